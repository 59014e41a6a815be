#!/bin/sh
# Deploys one application at a time, from whichever machine: the script runs itself again under the lock.
# Usage: deploy.sh APPLICATION VERSION
app=$1 version=$2
if [ "${REDLOCK_NAME:-}" != "deploy:$app" ]; then
    exec redlock run "deploy:$app" --wait 10m --max-time 30m --why "deploy $app $version" -- "$0" "$@"
fi

# From here on the lock is held. When it is lost, redlock ends this script and everything it started.
echo "deploying $app $version"
