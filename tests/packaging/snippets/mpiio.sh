mpicc program.c -o program
export SHEAF_STATS=1
@SNIPPET@
mpirun -n 2 ./a.out >stats 2>&1
grep -qi sheaf stats    # the program was linked with the drop-in
test "$(cat x)" = texttexttexttexttexttexttexttext
