#!/bin/sh
# A script that locks the catalogue itself, and that another one may call which has locked it already:
#   reentrant.sh rebuild      locks it, and calls this script again for each of its parts
#   reentrant.sh part NAME    locks it, or goes on under the lock that is there
set -eu

# shellcheck disable=SC2016 # the inner shell knows "$1": this script
case ${1-} in
rebuild) exec redlock run catalogue --reentrant --quiet -- sh -ec '"$1" part texts; "$1" part pictures' rebuild "$0" ;;
part) exec redlock run catalogue --reentrant --quiet -- echo "$2 rebuilt" ;;
*)
    echo "reentrant.sh: say rebuild, or part and a name" >&2
    exit 64
    ;;
esac
