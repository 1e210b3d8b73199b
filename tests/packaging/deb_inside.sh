#!/bin/sh
# deb_inside.sh STEP: the steps of deb_clean_root.sh, which runs this in a clean root with the packages in /packages.
set -eu
scratch=/tmp/first

write_program() {
  mkdir -p $scratch
  cd $scratch
  cat >program.c <<'END'
#include <mpi.h>
#include <sion.h>
#include <stdio.h>
#include <string.h>

/* program w|r FILE: every task writes its rank, or finds it. */
int main(int argc, char **argv) {
  int files = 1, rank = -1, found = -1, block = -1, sid;
  sion_int64 chunk = 1000;
  MPI_Comm all = MPI_COMM_NULL;
  const int writes = argc == 3 && strcmp(argv[1], "w") == 0;
  MPI_Init(&argc, &argv);
  sid = sion_paropen_mpi(argv[2], writes ? "wb" : "rb", &files, MPI_COMM_WORLD, &all, &chunk, &block, &rank, NULL, NULL);
  if (sid < 0) MPI_Abort(MPI_COMM_WORLD, 1);
  if (writes && sion_fwrite(&rank, sizeof rank, 1, sid) != 1) MPI_Abort(MPI_COMM_WORLD, 2);
  if (!writes && (sion_fread(&found, sizeof found, 1, sid) != 1 || found != rank)) MPI_Abort(MPI_COMM_WORLD, 3);
  if (sion_parclose_mpi(sid) != SION_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 4);
  if (rank == 0) printf("%s: %s\n", argv[2], writes ? "written" : "read");
  return MPI_Finalize();
}
END
}

case $1 in
find_all)
  find / -xdev -path /proc -prune -o -path /tmp -prune -o -path /packages -prune -o -path /var/lib/apt -prune -o \
    -path /var/cache -prune -o -path /var/log -prune -o -print | LC_ALL=C sort
  ;;
first_multifile)
  cd /packages
  apt-get -qq install -y ./*.deb >/dev/null
  write_program
  mpicc.openmpi $(sionconfig --cflags --mpi) program.c -o program $(sionconfig --libs --mpi)
  /packages/mpirun.sh openmpi 2 ./program w first.sion
  sheaf dump -a first.sion >dump.txt
  grep -q 'number of tasks: *2$' dump.txt
  ;;
both_mpis)
  dpkg-query -W -f '${Package} ${Version} ${Installed-Size} KiB\n' '*sheaf*'
  apt-get -qq install -y pkg-config >/dev/null
  write_program
  for mpi in openmpi mpich; do
    mpicc.$mpi program.c -o program.$mpi $(pkg-config --cflags --libs sheaf-mpi-$mpi)
    ldd program.$mpi | grep "libsheaf_$mpi.so.1 => /"
  done
  for mpi in openmpi mpich; do
    /packages/mpirun.sh $mpi 2 ./program.$mpi w $mpi.sion
    for reader in openmpi mpich; do
      /packages/mpirun.sh $reader 2 ./program.$reader r $mpi.sion
    done
    sheaf verify $mpi.sion
  done
  LD_PRELOAD=libsheaf_mpiio.so ldd program.openmpi | grep '/libsheaf_mpiio.so'
  mkdir out
  sheaf run --capture 'out/*:captured.sion' -- sh -c 'echo text >out/file'
  [ "$(sheaf cat --name out/file captured.sion)" = text ] && [ ! -e out/file ]
  ;;
remove)
  rm -rf $scratch
  apt-get -qq purge -y '*sheaf*' >/dev/null
  ;;
esac
