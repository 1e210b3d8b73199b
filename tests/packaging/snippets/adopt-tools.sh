# $TOOLS: an installation of the tools flavour, or one made of the objects of the ordinary build (test_adopting.py).
@SNIPPET@
cc traced.c -o traced $(sionconfig --cflags) -L. -ltracer $(sionconfig --libs) -Wl,-rpath,.
./traced
sheaf verify app.sion
test "$(sheaf cat trace.sion)" = "begin end "
