#!/bin/sh
# debug-rank.sh RANK PROGRAM [ARG ...]: to be started by mpirun. Rank RANK waits under gdbserver, the other ranks run.
# To continue it, run `gdb -q PROGRAM -ex 'target remote :2345'` in a second terminal (DEBUG_PORT changes the port).
set -eu
wanted=$1
shift
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-}}}
[ -n "$rank" ] || { echo "debug-rank.sh: no rank in the environment; start it with mpirun or scripts/mpirun.sh" >&2; exit 2; }
[ "$rank" = "$wanted" ] || exec "$@"
exec gdbserver --once "127.0.0.1:${DEBUG_PORT:-2345}" "$@"
