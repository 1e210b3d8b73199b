#!/bin/sh
# mpirun.sh MPI COUNT PROGRAM [ARG ...]: starts PROGRAM on COUNT ranks under `openmpi` or `mpich`, more ranks than
# cores allowed, also as root.
mpi=$1 count=$2
shift 2
case $mpi in
openmpi)
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
  exec mpirun.openmpi --oversubscribe --bind-to none --mca btl self,vader --mca btl_vader_single_copy_mechanism none \
    --mca mpi_yield_when_idle 1 -np "$count" "$@" ;;
mpich) exec mpirun.mpich -np "$count" "$@" ;;
*) echo "mpirun.sh: unknown MPI '$mpi' (openmpi, mpich)" >&2; exit 2 ;;
esac
