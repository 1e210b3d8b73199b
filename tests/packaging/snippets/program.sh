mpicc program.c -o program
@SNIPPET@
test "$(cat x)" = texttexttexttext
