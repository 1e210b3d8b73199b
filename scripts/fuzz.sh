#!/bin/sh
# Runs the fuzzers: fuzz.sh [SECONDS [TARGET...]], so many seconds for each of the targets (default: 60, all). Builds them
# in build-fuzz, where what they learn is kept for the next time. Inputs that fail are kept in tests/fuzz/findings/TARGET,
# where the ordinary tests replay them. Exit code 1 if there are any.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# = 0 ] || shift
targets=${*:-format extension journal metadata readers tools keyval frames}
build=build-fuzz

[ -f $build/build.ninja ] || cmake -S tests/fuzz -B $build -G Ninja -DCMAKE_CXX_COMPILER=clang++-16 >/dev/null
cmake --build $build -j "${JOBS:-$(nproc)}" >$build/build.log || { cat $build/build.log; exit 1; }
vectors=${SHEAF_VECTORS:-../shared/vectors}
[ ! -d "$vectors" ] || $build/sheaf_fuzz_seeds $build/vectors "$vectors"

failed=0
total=0
printf '%-10s %12s %8s %10s %9s  %s\n' target executions exec/s edges inputs findings
for target in $targets; do
  case $target in format | extension | journal | keyval | frames) seeds=$target ;; *) seeds=files ;; esac
  learned=$build/learned/$target
  findings=tests/fuzz/findings/$target
  mkdir -p "$learned" "$findings" $build/vectors/$seeds
  before=$(ls "$findings" | wc -l)
  log=$build/$target.log
  code=0
  $build/fuzz_"$target" -max_total_time="$seconds" -timeout=5 -report_slow_units=3600 -rss_limit_mb=2048 \
    -malloc_limit_mb=512 -max_len=12288 -print_final_stats=1 -artifact_prefix="$findings/" \
    "$learned" tests/fuzz/corpus/$seeds $build/vectors/$seeds >"$log" 2>&1 || code=$?
  found=$(($(ls "$findings" | wc -l) - before))
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -1)
  rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log" | tail -1)
  edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
  inputs=$(ls "$learned" | wc -l)
  printf '%-10s %12s %8s %10s %9s  %s\n' "$target" "${executions:-?}" "${rate:-?}" "${edges:-?}" "$inputs" "$found"
  total=$((total + ${executions:-0}))
  [ "$code" = 0 ] || {
    failed=1
    grep -E -m 3 'contradiction:|memory bound:|runtime error:|ERROR: |terminate called|what\(\)' "$log" || tail -5 "$log"
    echo "see $log"
  }
  rmdir "$findings" tests/fuzz/findings 2>/dev/null || true
done
echo "$total executions altogether"
exit $failed
