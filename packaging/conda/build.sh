#!/bin/sh
# Builds Sheaf for the MPI named by $mpi (nompi, mpich, openmpi), with that MPI's own wrapper, and installs it in $PREFIX.
set -eu
case $mpi in
nompi) wrapper=none ;;
*) wrapper=$(command -v "mpicc.$mpi" || command -v mpicc) || { echo "build.sh: no mpicc for $mpi in PATH" >&2; exit 1; } ;;
esac
cmake -S "${SRC_DIR:-.}" -B build-conda -G Ninja ${CMAKE_ARGS:-} -DCMAKE_BUILD_TYPE=Release "-DCMAKE_INSTALL_PREFIX=$PREFIX" \
  "-DSHEAF_MPIS=$wrapper" -DSHEAF_MOUNT=OFF
cmake --build build-conda -j "${CPU_COUNT:-2}"
cmake --install build-conda
