# The lines are for programs that are not part of Sheaf. Programs of bench/mpiio with the same access patterns replace them under
# their names. Each takes exactly the arguments in its line.
stand_in() {  # NAME ARGUMENTS PROGRAM [ARGUMENT ...]
  name=$1 arguments=$2
  shift 2
  mkdir -p "$(dirname "$name")"
  printf '#!/bin/sh\n[ "$*" = "%s" ] || { echo "other arguments: $0 $*" >&2; exit 2; }\nexec %s\n' "$arguments" "$*" >"$name"
  chmod +x "$name"
}
programs=$BUILD/bin/mpiio
stand_in ior "-a MPIIO -c -b 16m -t 1m -o ior.data" "${programs}_patterns_$MPI" contiguous ior.data 1
stand_in bt.A.x.mpi_io_full "" "${programs}_patterns_$MPI" bt-A btio.full.out 1
stand_in coll_perf "-fname coll.data" "${programs}_patterns_$MPI" coll_perf coll.data 1
cat >lines <<'END'
@SNIPPET@
END
for library in hdf5 pnetcdf; do
  if [ -x "${programs}_flash_${library}_$MPI" ]; then
    stand_in $library/flash_benchmark_io "" "${programs}_flash_${library}_$MPI" flash.$library 1 8
  else
    echo "$library for $MPI is not here: its line is left out"
    sed -i "/ $library\/flash/d" lines
  fi
done
# Each succeeds, has read back its data, and used the drop-in.
while read -r line; do
  eval "$line" >said 2>&1 </dev/null || { cat said; exit 1; }
  grep -q '^TIME write' said && ! grep -q WRONG said || { cat said; exit 1; }
  grep -q '^sheaf mpiio: ' said && grep -q '^ *4  *[1-9][0-9]*  *' said || { cat said; exit 1; }
done <lines
[ "$(wc -l <lines)" -ge 3 ]
