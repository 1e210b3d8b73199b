#!/bin/sh
# tarball_moved.sh ARCHIVE: unpacks the relocatable archive, moves it, and uses it there. Tests the tools, a captured file,
# programs in C, C++ and Fortran of every MPI that find it by sionconfig, pkg-config and CMake, and the README's examples.
set -eu
here=$(dirname "$(readlink -f "$0")")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/first" "$place/a directory of another name"
tar -C "$place/first" --zstd -xf "$1"
moved="$place/a directory of another name/moved"
mv "$place/first"/sheaf-* "$moved"
"$moved/bin/sheaf" --version
"$moved/bin/sheaf" info >/dev/null
[ "$("$moved/bin/sionconfig" --path)" = "$moved" ] || { echo "tarball_moved.sh: sionconfig does not know where it is" >&2; exit 1; }
ldd "$moved/bin/sheaf" | grep -F "$moved/"
if ldd $(find "$moved/bin/sheaf" "$moved/libexec" -type f | tr "\n" " ") | grep -E 'not found|libfmt'; then
  echo "tarball_moved.sh: a program needs a library that is not there, or that the archive should not need" >&2
  exit 1
fi
# Options that make and shells split into words cannot contain blanks.
mv "$moved" "$place/moved"
mkdir "$place/out"
(cd "$place" && moved/bin/sheaf run --capture 'out/*:captured.sion' -- sh -c 'echo text >out/file')
[ "$("$place/moved/bin/sheaf" cat --name out/file "$place/captured.sion")" = text ] && [ ! -e "$place/out/file" ]
export SHEAF_INSTALLED="$place/moved"
cd "$here"
python3 -B test_install.py -k pkg_config -k cmake_package -k ClassicLines -k find_module
python3 -B test_readme.py
