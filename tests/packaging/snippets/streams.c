/* build: gcc $(sionconfig --cflags --ser) app.c -o app $(sionconfig --libs --ser)
   run: ./app
   run: sheaf ls results.sion | grep -qx step/17
   run: sheaf verify results.sion */
@INCLUDES@

@SNIPPET@
