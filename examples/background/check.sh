#!/bin/sh
# check.sh MPI PROGRAM: an interrupted run that is restarted ends with the state of an uninterrupted one, and two saves
# remain.
set -eu
mpirun="$(dirname "$0")/../../scripts/mpirun.sh"
directory=$(mktemp -d ./background.XXXXXX)
trap 'rm -rf "$directory"' EXIT
mkdir "$directory/whole" "$directory/parts"
whole=$("$mpirun" "$1" 2 "$2" "$directory/whole" 60 | tail -n 1)
"$mpirun" "$1" 2 "$2" "$directory/parts" 30
"$mpirun" "$1" 2 "$2" "$directory/parts" 60 | tee "$directory/told"
grep -q 'restarts at step 30' "$directory/told"
[ "$(tail -n 1 "$directory/told")" = "$whole" ]
[ "$(cd "$directory/parts" && echo step.*)" = "step.00000050.sion step.00000060.sion" ]
