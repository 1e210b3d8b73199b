#!/usr/bin/env bash
# run.sh [BUILD_DIR] [--quick]: runs all benchmarks on a directory here and one on tmpfs (if there is one). Prints
# every pair and finally a table of the results. --quick: less data and fewer pairs, for a functional check; its
# ratios mean little. SHEAF_BENCH_DIRS: other directories, separated by blanks. A full run takes more than half an
# hour, mostly for the creation and removal of 294,912 files by the peer. The exit code is 1 if a row misses its
# target or a program fails, as the last lines report; the other programs run nevertheless.
#
# One row needs a file system with blocks of 2 MiB: SHEAF_BENCH_HUGE names a directory there (with 3 GiB free). If it
# is not set, root mounts a tmpfs with huge pages during the run.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=build quick=
for word in "$@"; do
  case $word in
  --quick) quick=1 ;;
  -*) echo "run.sh: unknown option $word" >&2; exit 2 ;;
  *) build=$word ;;
  esac
done
bin=$(cd "$build" && pwd)/bin
dirs=${SHEAF_BENCH_DIRS:-"$(pwd)/bench.tmp $([ -w /dev/shm ] && echo "/dev/shm/sheaf-bench.$$")"}
log=$(mktemp)
failed=$(mktemp)
left_out=
huge=${SHEAF_BENCH_HUGE:-} mounted=
if [ -z "$huge" ]; then
  mounted=$(mktemp -d)
  if mount -t tmpfs -o huge=always,size=4g sheaf-bench "$mounted" 2>/dev/null; then
    huge=$mounted
  else
    rmdir "$mounted"
    mounted=
  fi
fi
cleanup() {
  rm -rf "$log" "$failed"
  [ -n "${SHEAF_BENCH_DIRS:-}" ] || rm -rf $dirs
  [ -z "$mounted" ] || { umount "$mounted" && rmdir "$mounted"; }
}
trap cleanup EXIT

pairs=11 create_pairs=5 bandwidth='' records='' keyval='' mapped='' hybrid='' calls='' files='' create='' tools='' compress='' async=''
if [ -n "$quick" ]; then
  pairs=3 create_pairs=3 bandwidth='--bytes 8M' records='--records 200000 --bytes 16M' keyval='--records 200000' create='--tasks 20000'
  calls='--calls 100' files='--total 20 --room 1G' mapped='--bytes 1M' hybrid='--bytes 4M' tools='--shrink 16' compress='--bytes 32M --large 64M --reads 50' async='--bytes 64M --repeat-bytes 8M --saves 5'
fi

run() {
  echo "== ${*##*/}"
  "$@" 2>&1 | tee -a "$log" || echo "${*##*/}" >>"$failed"
}
parallel() { run "$here/../scripts/mpirun.sh" "$@"; }

for dir in $dirs; do
  mkdir -p "$dir"
  parallel openmpi 8 "$bin/mpi_bench_bandwidth_openmpi" --dir "$dir" --pairs $pairs $bandwidth --only auto,one,default,sweep,alignment
  for tasks in 4 16 64; do
    parallel openmpi $tasks "$bin/mpi_bench_collective_openmpi" --dir "$dir" --pairs $create_pairs --only calls $calls
  done
  # Its tasks poll without yielding, so only a few tasks and calls are used.
  [ ! -x "$bin/mpi_bench_collective_mpich" ] ||
    parallel mpich 4 "$bin/mpi_bench_collective_mpich" --dir "$dir" --pairs 3 --only calls --calls 50
  run "$here/mpiio/bench_mpiio.py" --bin "$bin" --dir "$dir" --pairs $create_pairs
  for tasks in 2 4 8 16; do
    parallel openmpi $tasks "$bin/mpi_bench_sfio_openmpi" --dir "$dir" --pairs $create_pairs
  done
  if [ "$(nproc)" -gt 1 ]; then
    for unit in 200 64K; do
      parallel openmpi $((2 * $(nproc))) "$bin/mpi_bench_sfio_nodes_openmpi" --dir "$dir" --pairs $pairs --unit $unit
      parallel openmpi "$(nproc)" "$bin/mpi_bench_sfio_nodes_openmpi" --dir "$dir" --pairs $pairs --unit $unit --threads
    done
  fi
  run "$bin/bench_sfio_fibers"
  run "$bin/bench_records" --dir "$dir" --pairs $pairs $records
  run "$bin/bench_compress" --dir "$dir" --pairs $create_pairs $compress
  run "$bin/bench_keyval" --dir "$dir" --pairs $pairs $keyval
  run "$bin/bench_mapped_threads" --dir "$dir" --pairs $pairs $mapped
  run "$here/bench_hybrid.py" --bin "$bin" --dir "$dir" --pairs $pairs $hybrid
  run "$bin/bench_recovery_fibers" --dir "$dir"
  run "$bin/bench_create" --dir "$dir" --pairs $create_pairs $create
  run "$bin/bench_create_fibers" --dir "$dir" --pairs $create_pairs $create
  run "$here/bench_tools.py" --bin "$bin" --dir "$dir" --pairs $pairs $tools
  [ "$(nproc)" -lt 2 ] || run "$here/bench_async.py" --bin "$bin" --dir "$dir" --runs $pairs $async
done
if [ -n "$huge" ]; then
  parallel openmpi 64 "$bin/mpi_bench_collective_openmpi" --dir "$huge" --only multifiles $files
else
  left_out="left out: collective.multifiles; no file system with blocks of 2 MiB (SHEAF_BENCH_HUGE=DIR)"
fi

echo
echo "== Results: median of the ratio ours/peer in one pair, and its spread (bandwidths: >= is good; times: <=)"
awk '/^RESULT/ {
  for (i = 2; i <= NF; ++i) { at = index($i, "="); v[substr($i, 1, at - 1)] = substr($i, at + 1) }
  printf "%-44s %-6s %9s  (%s .. %s)  %-9s %s\n", v["name"], v["fs"], v["ratio"], v["min"], v["max"], v["target"], v["pass"]
}' "$log"
missed=$(sed -n 's/^RESULT name=\([^ ]*\) fs=\([^ ]*\) ratio=\([^ ]*\) .*target=\([^ ]*\) pass=no.*/missed: \1 on \2: \3 instead of \4/p' "$log")
[ -z "$left_out" ] || echo "$left_out"
[ -z "$missed" ] || echo "$missed"
[ ! -s "$failed" ] || sed 's/^/failed: /' "$failed"
[ -z "$missed" ] && [ ! -s "$failed" ] && echo "all targets reached"
