#!/bin/sh
# configure.sh BUILD OPTION...: configures the directory BUILD with CMake and prints a summary, or all output on
# failure. A directory that is already configured keeps its other options.
set -eu
build=$1
shift
log=$build.configure.log
[ -f "$build/CMakeCache.txt" ] || set -- -G Ninja -DSHEAF_DEVELOPER=ON "$@"
cmake -S "$(dirname "$0")/.." -B "$build" "$@" >"$log" 2>&1 || { cat "$log"; rm -f "$log"; exit 1; }
sed -n '/^-- Sheaf /,/^-- Configuring/{/Configuring/d;p}' "$log"
rm -f "$log"
