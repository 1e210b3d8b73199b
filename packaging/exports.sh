#!/bin/sh
# exports.sh OUT VERSION OBJECT... -- USER...: writes to OUT the version script of a shared library made of
# OBJECTs. The C and Fortran symbols that they export form the public interface, node SHEAF_1. Private symbols
# are those of C++ and those that begin with sheaf_private_. The library exports a private symbol only if a
# USER needs it, an object of another library of the same build. The node of these symbols is named after
# VERSION, so that libraries of other versions cannot be linked with them. For another architecture, the
# environment variables NM and READELF select the tools.
set -eu
: "${NM:=nm}" "${READELF:=readelf}"
out=$1 version=$2
shift 2
own="" users=""
for object; do
  if [ "$object" = -- ]; then own=$users users=""; else users="$users $object"; fi
done
shown=$out.shown used=$out.used private='^\(_Z\|sheaf_private_\)'
$READELF -sW $own | awk '($5 == "GLOBAL" || $5 == "WEAK") && $6 == "DEFAULT" && $7 != "UND" { print $8 }' | LC_ALL=C sort -u >"$shown"
[ -z "$users" ] || $NM -u $users | awk '$1 == "U" { print $2 }'  | LC_ALL=C sort -u >"$used"
[ -n "$users" ] || : >"$used"
{
  echo "SHEAF_1 {"
  grep -v "$private" "$shown" | sed '1s/^/ global: /; s/$/;/'
  echo " local: *; };"
  echo "SHEAF_PRIVATE_$version {"
  LC_ALL=C comm -12 "$shown" "$used" | grep "$private" | sed '1s/^/ global: /; s/$/;/'
  echo "};"
} >"$out"
