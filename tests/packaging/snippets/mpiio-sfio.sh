mpicc program.c -o program
mkdir -p n0
export SHEAF_SFIO_HOSTS=n0,n0,n0,n0,n0,n0,n0,n0 SHEAF_SFIO_ROOT=$PWD
@SNIPPET@
test "$(cat n0/x)" = texttexttexttexttexttexttexttext
