# An installation of the tools flavour; otherwise its library, headers and scripts, created from the objects of the ordinary
# build.
if [ -n "${SHEAF_TOOLS_PREFIX:-}" ]; then
  TOOLS=$SHEAF_TOOLS_PREFIX
else
  TOOLS=$PWD/tools
  mkdir -p objects "$TOOLS/lib" "$TOOLS/include"
  (cd objects && ar x "$BUILD/archive/lib/libsheaf.a")
  cp "$ROOT"/include/*.h "$TOOLS/include"
  "$ROOT/packaging/tools_flavour.sh" "$TOOLS/lib/liblsheaf.a" "$TOOLS/include/sion_libversion_rep.h" "$ROOT/include" objects/*.o
  sed -e "s|@CMAKE_INSTALL_PREFIX@|$TOOLS|; s|@SHEAF_FLAVOUR@|tools|; s|@SHEAF_MPIS@||; s|@SHEAF_FORTRAN@|OFF|; s|@SHEAF_FEATURES@||; s|@SHEAF_LIB@|lib|; s|@SHEAF_RELOCATABLE@||" \
    -e "s|@classic_source@|$ROOT/packaging|; s|@classic_build@|$PWD/classic|; s|@SHEAF_MODULES@|include/mod_64|" "$ROOT/packaging/install_classic.cmake.in" >classic.cmake
  cmake -DCMAKE_INSTALL_PREFIX="$TOOLS" -P classic.cmake >/dev/null
fi
@SNIPPET@
cc traced.c -o traced $(sionconfig --cflags) -L. -ltracer $(sionconfig --libs) -Wl,-rpath,.
./traced
sheaf verify app.sion
test "$(sheaf cat trace.sion)" = "begin end "
