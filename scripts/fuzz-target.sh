#!/bin/sh
# fuzz-target.sh TARGET SECONDS: runs one fuzzer built by fuzz.sh and prints a row of its table. FUZZ_TIMEOUT: maximum
# seconds per input (5); increase it if processes may be suspended for a while.
set -eu
cd "$(dirname "$0")/.."
target=$1
seconds=$2
build=build-fuzz

case $target in metadata | readers | tools) seeds=files longest=12288 ;; *) seeds=$target longest=1200 ;; esac
learned=$build/learned/$target
findings=tests/fuzz/findings/$target
mkdir -p "$learned" "$findings" $build/vectors/$seeds tests/fuzz/corpus/$seeds
before=$(ls "$findings" | wc -l)
log=$build/$target.log
# Reduces checks that cost time without finding more: only a few released blocks are kept in quarantine.
export ASAN_OPTIONS="malloc_context_size=2:quarantine_size_mb=4:thread_local_quarantine_size_kb=64${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
program=$(sha1sum <$build/fuzz_"$target" | cut -c1-12)
code=0
$build/fuzz_"$target" -max_total_time="$seconds" -timeout="${FUZZ_TIMEOUT:-5}" -report_slow_units=3600 -rss_limit_mb=2048 \
  -malloc_limit_mb=512 -max_len=$longest -reload=0 -entropic=0 -print_final_stats=1 -artifact_prefix="$findings/" \
  "$learned" tests/fuzz/corpus/$seeds $build/vectors/$seeds >"$log" 2>&1 || code=$?
found=$(($(ls "$findings" | wc -l) - before))
executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -1)
rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log" | tail -1)
edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
inputs=$(ls "$learned" | wc -l)
printf '%-10s %12s %8s %8s %8s  %s\n' "$target" "${executions:-?}" "${rate:-?}" "${edges:-?}" "$inputs" "$found"
echo "$target ${executions:-0} $seconds $program $(date -u +%FT%TZ)" >>$build/executions
[ "$code" = 0 ] || {
  grep -a -E -m 3 'contradiction:|memory bound:|runtime error:|ERROR: |terminate called|what\(\)' "$log" || tail -5 "$log"
  echo "see $log"
}
rmdir "$findings" tests/fuzz/findings 2>/dev/null || true
[ "$code" = 0 ]
