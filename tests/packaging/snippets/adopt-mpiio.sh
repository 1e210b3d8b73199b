mpicc program.c -o program
libraries=/usr/lib/$(gcc -print-multiarch)
if [ -e "$libraries/hdf5/$MPI/libhdf5.so" ]; then
  mpicc "-I/usr/include/hdf5/$MPI" hdf5.c -o hdf5-program "-L$libraries/hdf5/$MPI" -lhdf5 "-Wl,-rpath,$libraries/hdf5/$MPI"
fi
[ "$MPI" != openmpi ] || [ ! -e "$libraries/libpnetcdf.so" ] || mpicc pnetcdf.c -o pnetcdf-program -lpnetcdf
cat >lines <<'END'
@SNIPPET@
END
for library in hdf5 pnetcdf; do
  [ -e $library-program ] || { echo "$library for $MPI is not here: its line is left out"; sed -i "/$library/d" lines; }
done
SHEAF_STATS=1
export SHEAF_STATS
. ./lines >said 2>&1
grep -q '^sheaf mpiio: ' said || { cat said; exit 1; }
for library in hdf5:data.h5 pnetcdf:data.nc; do
  [ ! -e "${library%:*}-program" ] || grep -q "^sheaf: ${library#*:}, 4 tasks" said || { cat said; exit 1; }
done
# Without the drop-in the files are the same.
unset SHEAF_STATS
test "$(cat x)" = texttexttexttext
for library in hdf5 pnetcdf; do
  [ ! -e $library-program ] || mpirun -n 2 ./$library-program read
done
