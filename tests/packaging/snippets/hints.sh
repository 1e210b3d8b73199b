mpicc program.c -o program
cat >hints <<'END'
@SNIPPET@
END
# Understood: nothing is said about them.
ROMIO_HINTS=$PWD/hints mpirun -n 2 env LD_PRELOAD=$PREFIX/lib/libsheaf_mpiio.so ./program 2>said
cat said
test ! -s said
