cp linked.c app.c
mpicc $(sionconfig --cflags --mpi) app.c -o app $(sionconfig --libs --mpi)
mpicc program.c -o program
mpicc writer.c -o writer
mkdir out
export SHEAF_STATS=1
{
@SNIPPET@
} >said 2>&1 || { cat said; exit 1; }
test "$(cat x)" = texttexttexttext
grep -q 'sheaf\|Sheaf' said    # messages of the drop-in
sheaf verify data.sion
test -z "$(ls out)"
test "$(sheaf ls out.sion | wc -l)" = 4
