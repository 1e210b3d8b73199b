cp linked.c app.c
mpicc $(sionconfig --cflags --mpi) app.c -o app $(sionconfig --libs --mpi)
SHEAF_FLAGS=compress=zstd mpirun -n 4 ./app
mv data.sion packed.sion
@SNIPPET@
for file in data.sion plain.sion; do
  test "$(head -c 4 $file)" = sion
  sheaf cat $file | cmp - <(sheaf cat packed.sion)
done
test "$(ls rank.* | wc -l)" = 4
cat rank.* | cmp - <(sheaf cat packed.sion)
