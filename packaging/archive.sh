#!/bin/sh
# archive.sh OUT.a WORKDIR "PART|PART... PART..." LDFLAGS OBJECT...: the static library that is installed. What every program needs is
# one object; parts (names of unity groups) that only some programs use are further ones, those divided by | together. Inline functions
# and the tables of sections and names are there once for each of them, which takes a third off the size. AR, LD, OBJCOPY in the
# environment: the tools to use, for another architecture.
set -eu
: "${AR:=ar}" "${LD:=ld}" "${OBJCOPY:=objcopy}"
out=$1 work=$2 parts=$3 flags=$4
shift 4
script=$(dirname "$0")/archive.ld
rm -rf "$work" "$out"
mkdir -p "$work"
for object; do
  member=sheaf
  for part in $parts; do
    ! basename "$object" | grep -qE "^unity_($part)_" || member=$(echo "$part" | tr '|' '_')
  done
  echo "$object" >>"$work/$member.list"
done
for list in "$work"/*.list; do
  $LD -r $flags --force-group-allocation -T "$script" -o "${list%.list}.o" $(cat "$list")
done
# Programs of MPI without threads do not link OpenMP; only the calls for hybrid programs, in the same object, use it.
case $out in
*/libsheaf_mpi.a) $OBJCOPY -w --weaken-symbol='omp_*' --weaken-symbol='GOMP_*' --weaken-symbol='__kmpc_*' "$work/sheaf.o" ;;
esac
$AR qcs "$out" "$work"/*.o
