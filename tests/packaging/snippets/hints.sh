mpicc program.c -o program
cat >hints <<'END'
@SNIPPET@
END
# Recognized hints cause no message.
ROMIO_HINTS=$PWD/hints mpirun -n 2 env LD_PRELOAD=$PREFIX/lib/libsheaf_mpiio.so ./program 2>said
cat said
test ! -s said
