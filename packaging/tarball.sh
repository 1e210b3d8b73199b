#!/bin/sh
# tarball.sh WORK OUT [OPTION...]: builds OUT/sheaf-<version>-linux-<machine>.tar.zst in WORK. MPIS lists the
# compiler wrappers of the MPIs (default: Open MPI and MPICH), and each OPTION is passed to CMake. The tarball
# can be unpacked in any directory: programs find their libraries, and pkg-config and CMake files find the
# installation. Tests the result in two directories.
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
# The installed files must not contain the build directory, because the tarball may be unpacked elsewhere.
if found=$(grep -rlF "$work" "$work/stage/$name"); then
  printf 'tarball.sh: these files name the directory of the build:\n%s\n' "$found" >&2
  exit 1
fi
tar -C "$work/stage" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | zstd -q -f -19 -T0 -o "$out/$name.tar.zst"
ls -l "$out/$name.tar.zst"
"$top/tests/packaging/tarball_moved.sh" "$out/$name.tar.zst"
