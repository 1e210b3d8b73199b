#!/bin/sh
# tarball.sh WORK OUT [OPTION...]: builds OUT/sheaf-<version>-linux-<machine>.tar.zst in WORK, for the MPIs in
# MPIS (Open MPI and MPICH), with further options of CMake: unpacked anywhere, programs find their libraries,
# pkg-config and CMake the directory they are in. Then tries it at two places.
set -eu
here=$(dirname "$(readlink -f "$0")")
top=$(readlink -f "$here/..")
mkdir -p "$1" "$2"
work=$(readlink -f "$1") out=$(readlink -f "$2")
shift 2
"$top/scripts/configure.sh" "$work/build" -DSHEAF_RELOCATABLE=ON "-DSHEAF_MPIS=${MPIS:-mpicc.openmpi;mpicc.mpich}" "$@"
cmake --build "$work/build" -j "${JOBS:-$(nproc)}"
version=$(sed -n 's/^#define SHEAF_VERSION_STRING "\(.*\)"$/\1/p' "$top/include/sheaf.h")
name=sheaf-$version-linux-$(uname -m)
rm -rf "$work/stage"
cmake --install "$work/build" --prefix "$work/stage/$name" >/dev/null
# A prefix that was written down would be wrong elsewhere.
if found=$(grep -rlF "$work" "$work/stage/$name"); then
  printf 'tarball.sh: these files name the directory of the build:\n%s\n' "$found" >&2
  exit 1
fi
tar -C "$work/stage" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | zstd -q -f -19 -T0 -o "$out/$name.tar.zst"
ls -l "$out/$name.tar.zst"
"$top/tests/packaging/tarball_moved.sh" "$out/$name.tar.zst"
