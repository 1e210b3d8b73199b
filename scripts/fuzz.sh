#!/bin/sh
# fuzz.sh [SECONDS [TARGET...]]: runs each target for SECONDS (default: 60, all targets), JOBS at a time (default: one
# per core). Builds the fuzzers in build-fuzz, which keeps their new inputs for later runs. Failing inputs are stored
# in tests/fuzz/findings/TARGET, and the ordinary tests replay them. Exit code 1 if there are any.
#
# Every run appends a line to build-fuzz/executions: target, executions, seconds, checksum of the program, time. The
# totals at the end cover all lines, and those of the current programs.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# = 0 ] || shift
targets=${*:-header trailer mapping slots frames records words messages keyval streams journal metadata readers tools container}
jobs=${JOBS:-$(nproc)}
build=build-fuzz

launcher=
! command -v ccache >/dev/null || launcher=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache
[ -f $build/build.ninja ] || cmake -S tests/fuzz -B $build -G Ninja -DCMAKE_CXX_COMPILER=clang++-16 $launcher >/dev/null
cmake --build $build -j "$jobs" >$build/build.log || { cat $build/build.log; exit 1; }
vectors=${SHEAF_VECTORS:-../shared/vectors}
[ ! -d "$vectors" ] || $build/sheaf_fuzz_seeds $build/vectors "$vectors"

printf '%-10s %12s %8s %8s %8s  %s\n' target executions exec/s edges inputs findings
code=0
echo "$targets" | tr ' ' '\n' | xargs -P "$jobs" -I{} scripts/fuzz-target.sh {} "$seconds" || code=1

for target in $targets; do
  printf '%s %s\n' "$target" "$(sha1sum <$build/fuzz_"$target" | cut -c1-12)"
done >$build/programs
awk 'NR == FNR { now[$1] = $2; next }
     { all += $2; if (now[$1] == $4) own += $2 }
     END { printf "%d executions altogether, %d of them of these programs as they are now\n", all, own }' \
  $build/programs $build/executions
exit $code
