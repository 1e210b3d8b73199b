#!/usr/bin/env bash
# run.sh [BUILD_DIR] [--quick]: runs all benchmarks on a directory here and one on tmpfs (where there is one), prints
# every pair and at the end a table of the results. --quick: less data and fewer pairs, to see that everything runs;
# its ratios mean little. SHEAF_BENCH_DIRS: other directories, separated by blanks. A full run takes about 20 minutes,
# most of them the creation and removal of 294,912 files by the peer.
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
cleanup() { rm -rf "$log"; [ -n "${SHEAF_BENCH_DIRS:-}" ] || rm -rf $dirs; }
trap cleanup EXIT

pairs=11 create_pairs=5 bandwidth='' records='' keyval='' mapped='' hybrid='' collective='' create='' tools=''
if [ -n "$quick" ]; then
  pairs=3 create_pairs=3 bandwidth='--bytes 8M' records='--records 200000 --bytes 16M' keyval='--records 200000' create='--tasks 20000'
  collective='--files 5 --calls 100' mapped='--bytes 1M' hybrid='--bytes 4M' tools='--shrink 16'
fi

run() {
  echo "== ${*##*/}"
  "$@" 2>&1 | tee -a "$log"
}

for dir in $dirs; do
  mkdir -p "$dir"
  run "$here/../scripts/mpirun.sh" openmpi 8 "$bin/mpi_bench_bandwidth_openmpi" --dir "$dir" --pairs $pairs $bandwidth \
    --only auto,one,sweep,alignment
  for tasks in 4 16 64; do
    run "$here/../scripts/mpirun.sh" openmpi $tasks "$bin/mpi_bench_collective_openmpi" --dir "$dir" --pairs $create_pairs $collective
  done
  [ -x "$bin/mpi_bench_collective_mpich" ] &&
    run "$here/../scripts/mpirun.sh" mpich 4 "$bin/mpi_bench_collective_mpich" --dir "$dir" --pairs 3 --files 5 --calls 50
  run "$bin/bench_records" --dir "$dir" --pairs $pairs $records
  run "$bin/bench_keyval" --dir "$dir" --pairs $pairs $keyval
  run "$bin/bench_mapped_threads" --dir "$dir" --pairs $pairs $mapped
  run "$here/bench_hybrid.py" --bin "$bin" --dir "$dir" --pairs $pairs $hybrid
  run "$bin/bench_create" --dir "$dir" --pairs $create_pairs $create
  run "$bin/bench_create_fibers" --dir "$dir" --pairs $create_pairs $create
  run "$here/bench_tools.py" --bin "$bin" --dir "$dir" --pairs $pairs $tools
done

echo
echo "== Results: median of the ratio ours/peer in one pair, and its spread (bandwidths: >= is good; times: <=)"
awk '/^RESULT/ {
  for (i = 2; i <= NF; ++i) { at = index($i, "="); v[substr($i, 1, at - 1)] = substr($i, at + 1) }
  printf "%-44s %-6s %9s  (%s .. %s)  %-9s %s\n", v["name"], v["fs"], v["ratio"], v["min"], v["max"], v["target"], v["pass"]
}' "$log"
! grep -q '^RESULT.*pass=no' "$log"
