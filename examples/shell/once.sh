#!/bin/sh
# The same cron line on every host: whichever comes first does the job, at most once an hour, and a job that fails is tried again by the next:
#   0 * * * *  once.sh hourly-report /usr/local/bin/make-report
name=$1
shift
exec redlock once "$name" --every 1h --quiet --why "cron on $(uname -n)" -- "$@"
