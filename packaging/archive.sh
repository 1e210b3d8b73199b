#!/bin/sh
# archive.sh OUT.a WORKDIR "PART|PART... PART..." LDFLAGS OBJECT...: joins objects into the installed static library OUT.a.
# A PART is the name of a unity group that only some programs use. Parts joined by | form one object, and the remaining objects,
# which every program needs, form another. Joining removes repeated inline functions, section tables and symbol tables, a third of
# the size. For another architecture, the environment variables AR, LD and OBJCOPY select the tools.
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
# The object also contains the calls for hybrid programs, which use OpenMP. MPI programs without threads do not link OpenMP.
case $out in
*/libsheaf_mpi.a) $OBJCOPY -w --weaken-symbol='omp_*' --weaken-symbol='GOMP_*' --weaken-symbol='__kmpc_*' "$work/sheaf.o" ;;
esac
$AR qcs "$out" "$work"/*.o
