#!/bin/sh
# tools_flavour.sh OUT.a OUT.h INCLUDE OBJECT...: makes a library with prefixed names, for tracing libraries. Programs that link
# them may use the ordinary library as well. In OUT.a every C name begins with l (lsion_open, _lsion_close_sid, lsheaf_last_error),
# and all other names are local. OUT.h, installed as sion_libversion_rep.h, maps the names in the headers of INCLUDE to these, so
# that clients of both libraries have the same source. The environment variables AR, LD, NM and OBJCOPY select the tools.
set -eu
: "${AR:=ar}" "${LD:=ld}" "${NM:=nm}" "${OBJCOPY:=objcopy}"
archive=$1 header=$2 include=$3
shift 3
work=$archive.parts
rm -rf "$work" "$archive"
mkdir -p "$work"
object=$work/lsheaf.o
# Dissolves the section groups of inline functions, which the linker would merge with those of the ordinary library.
$LD -r --force-group-allocation -T "$(dirname "$0")/archive.ld" -o "$object" "$@"

renamed='s/^(_?)(f?)(sion|sheaf)_/\1\2l\3_/'
$NM -g --defined-only "$object" | awk '$3 ~ /^_?(sion|sheaf)_/ { print $3 }' | LC_ALL=C sort -u >"$work/names"
sed -E "$renamed" "$work/names" | paste -d ' ' "$work/names" - >"$work/renames"
$OBJCOPY --keep-global-symbols="$work/names" "$object"
$OBJCOPY --redefine-syms="$work/renames" --strip-unneeded "$object"
$AR qcs "$archive" "$object"

# Maps the names of calls that this flavour lacks (MPI, OpenMP) too, so that clients cannot link those of the ordinary library.
cat "$include"/*.h | grep -oE '\b_?(sion|sheaf)_[a-z0-9_]+ *\(' | tr -d ' (' | LC_ALL=C sort -u - "$work/names" >"$work/declared"
{
  echo '/* The tools flavour: the ordinary names stand for those that begin with l. */'
  echo '#ifndef SION_LIBVERSION_REP_H'
  echo '#define SION_LIBVERSION_REP_H'
  echo '#define SION_LVERSION_PREFIX "L"'
  echo '#define SION_Base LSION_Base'
  echo '#define SIONFile LSIONFile'
  sed -E "$renamed" "$work/declared" | paste -d ' ' "$work/declared" - | sed 's/^/#define /'
  echo '#endif'
} >"$header"
