#!/bin/sh
# configure.sh BUILD OPTION...: configures the directory BUILD with CMake and shows what was found; all of the output if it fails. A
# directory that is configured already keeps its other options.
set -eu
build=$1
shift
log=$build.configure.log
[ -f "$build/CMakeCache.txt" ] || set -- -G Ninja -DSHEAF_DEVELOPER=ON "$@"
cmake -S "$(dirname "$0")/.." -B "$build" "$@" >"$log" 2>&1 || { cat "$log"; rm -f "$log"; exit 1; }
sed -n '/^-- Sheaf /,/^-- Configuring/{/Configuring/d;p}' "$log"
rm -f "$log"
