DARSHAN=$PWD/darshan
mkdir "$DARSHAN"
mpicc -shared -fPIC profiling.c -o "$DARSHAN/libdarshan.so"
mpicc program.c -o program
mpicc program.c profiling.c -o instrumented-program
export SHEAF_STATS=json:stats
cat >lines <<'END'
@SNIPPET@
END
while read -r line; do
  rm -f x counted stats
  bash -ec "DARSHAN=$DARSHAN; $line"
  test "$(cat x)" = texttext
  test "$(sort -u counted)" = "MPI_File_open 1, MPI_File_write_ordered 1"    # the tool has counted the calls
  test -s stats                                                              # and Sheaf has executed them
done <lines
# In the reverse order Sheaf works, but the tool sees no MPI-IO call.
rm -f x counted stats
mpirun -n 2 env LD_PRELOAD=$PREFIX/lib/libsheaf_mpiio.so:$DARSHAN/libdarshan.so ./program
test "$(cat x)" = texttext
test "$(sort -u counted)" = "MPI_File_open 0, MPI_File_write_ordered 0"
test -s stats
