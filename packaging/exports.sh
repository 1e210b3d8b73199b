#!/bin/sh
# exports.sh OUT VERSION OBJECT... -- USER...: writes the version script of a shared library made of these
# objects. The C and Fortran names that the objects show are its interface, node SHEAF_1. Of the private names
# that they show, those of C++ and those that begin with sheaf_private_, only those that the companions of the
# same build use, whose objects follow the dashes, in a node of this very version: nothing else can be linked
# with them. NM, READELF in the environment: the tools to use, for another architecture.
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
