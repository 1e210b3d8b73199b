/* build: mpicc app.c -o app $(pkg-config --cflags --libs sheaf-sfio-$MPI)
   build: mkdir -p node0/scratch node1/scratch
   run: SHEAF_SFIO_HOSTS=node0,node1 SHEAF_SFIO_ROOT=$PWD mpirun -n 2 ./app
   run: test "$(cat node0/scratch/a.dat node1/scratch/a.dat)" = "Hello*World!*Hello*World!*" */
@INCLUDES@

int main(int argc, char **argv) {
  @SNIPPET@
  return 0;
}
