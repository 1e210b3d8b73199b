#!/bin/sh
# mpirun.sh MPI COUNT PROGRAM [ARG ...]: starts PROGRAM on COUNT ranks under an MPI of the build (openmpi, mpich,
# ...). Allows more ranks than cores, and root. mpirun.<MPI> must be in PATH; the directory mpi/ of a build contains
# those of its MPIs.
mpi=$1 count=$2
shift 2
case $mpi in
openmpi*)
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM PRTE_ALLOW_RUN_AS_ROOT PRTE_ALLOW_RUN_AS_ROOT_CONFIRM
  case $("mpirun.$mpi" --version 2>/dev/null) in
  *"Open MPI) "[1-4].* | *"OpenRTE) "[1-4].*)
    exec "mpirun.$mpi" --oversubscribe --bind-to none --mca btl self,vader --mca btl_vader_single_copy_mechanism none \
      --mca mpi_yield_when_idle 1 -np "$count" "$@" ;;
  *) exec "mpirun.$mpi" --map-by :OVERSUBSCRIBE --bind-to none --mca mpi_yield_when_idle 1 -np "$count" "$@" ;;
  esac ;;
*)
  command -v "mpirun.$mpi" >/dev/null || { echo "mpirun.sh: no mpirun.$mpi in PATH" >&2; exit 2; }
  exec "mpirun.$mpi" -np "$count" "$@" ;;
esac
