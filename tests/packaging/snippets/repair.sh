gcc $(sionconfig --cflags --ser) unclosed.c -o unclosed $(sionconfig --libs --ser)
./unclosed
@SNIPPET@
