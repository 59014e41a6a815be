#!/bin/sh
# The same cron line on every host; whichever comes first does the job, the others exit 0 in silence:
#   15 2 * * *  cron.sh nightly-report /usr/local/bin/make-report
# Without --min-hold a job of one second could run twice, on hosts whose clocks differ by two.
name=$1
shift
exec redlock run "$name" --nonblock --skip-ok --min-hold "${MIN_HOLD:-30s}" --why "cron on $(uname -n)" -- "$@"
