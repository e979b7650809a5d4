#!/bin/sh
# Runs one stage of `make test`:   tools/stage.sh NAME TIME-LIMIT COMMAND...   e.g. tools/stage.sh docs 8m pytest ...
# Its output goes to build/test/NAME.log, and its exit status and seconds to build/test/NAME.status. The end of the
# output is printed if it fails: in continuous integration nothing else is kept.
set -u
cd "$(dirname -- "$0")/.."
name=$1 limit=$2
shift 2
log=build/test/$name.log
mkdir -p build/test
unset MAKEFLAGS MFLAGS MAKELEVEL # the tests start a make of their own
unset PYTHONDONTWRITEBYTECODE # each start of the laboratory would compile it, in half a second
. tools/compiler_cache.sh

printf '=== %s\n' "$name"
started=$(date +%s)
# A child in the background, so that Ctrl-C reaches this shell, which ends it with all that it started.
timeout --kill-after=10 "$limit" "$@" >"$log" 2>&1 </dev/null &
trap 'kill $!; exit 130' INT TERM HUP
wait $!
status=$?
seconds=$(($(date +%s) - started))
echo "$status $seconds" >"build/test/$name.status"

if [ $status -eq 124 ]; then echo "tools/stage.sh: stopped after the time limit of $limit" >>"$log"; fi
if [ $status -ne 0 ]; then tail -n 120 "$log" | sed 's/^/    /'; fi
printf -- '--- %s: exit status %s after %s s\n' "$name" "$status" "$seconds"
exit $status
