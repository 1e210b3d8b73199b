#!/bin/sh
# debug-rank.sh RANK PROGRAM [ARG ...]: for mpirun: rank RANK waits under gdbserver, the others run. In a second terminal
# `gdb -q PROGRAM -ex 'target remote :2345'` (DEBUG_PORT) continues it.
set -eu
wanted=$1
shift
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-}}}
[ -n "$rank" ] || { echo "debug-rank.sh: no rank in the environment; start it with mpirun or scripts/mpirun.sh" >&2; exit 2; }
[ "$rank" = "$wanted" ] || exec "$@"
exec gdbserver --once "127.0.0.1:${DEBUG_PORT:-2345}" "$@"
