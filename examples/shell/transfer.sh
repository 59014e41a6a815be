#!/bin/sh
# Runs a command while both accounts are locked, in whichever order others name them: there is no order to get wrong.
# Usage: transfer.sh FROM TO COMMAND...
from=$1 to=$2
shift 2
exec redlock run "account:$from" --also "account:$to" --wait 1m --why "transfer from $from to $to" -- "$@"
