#!/usr/bin/env bash
# The particle simulation with restart files, for `make demo`: written in three ways, killed, restarted.
#
#   examples/particles/demo.sh [BUILD]          BUILD is the build directory, with the programs in BUILD/bin
#
# DEMO_PARTICLES (2000000) and DEMO_TASKS (8) change the size. All files are in a temporary directory that is removed
# at the end. The exit status is nonzero if anything fails, in particular if a restarted run ends in another state.
set -euo pipefail

bin=$(cd "${1:-build}/bin" && pwd)
readonly particles=${DEMO_PARTICLES:-2000000} tasks=${DEMO_TASKS:-8}
readonly steps=20 every=5 death=13 last_checkpoint=10
readonly ways="single tasklocal multifile"

work=$(mktemp -d "${TMPDIR:-/tmp}/sheaf-demo.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

bold='' plain='' progress=()
if [ -t 1 ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
if [ -t 2 ]; then progress=(--progress); fi

say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
indent() { sed 's/^/    /'; }
fail() {
  printf '\ndemo: %s\n' "$*" >&2
  exit 1
}
with_commas() { sed -E ':a; s/^([0-9]+)([0-9]{3})/\1,\2/; ta' <<<"$1"; }

mpi=$(cat "$bin/../mpi/first" 2>/dev/null) || fail "the build has no MPI; configure with one (docs/building.md)"
export PATH=$(cd "$bin/../mpi" && pwd):$PATH
launcher=("$(dirname "$0")/../../scripts/mpirun.sh" "$mpi" "$tasks")
simulate() {
  "${launcher[@]}" "$bin/particles" --particles "$particles" --steps $steps --checkpoint-every $every "$@" </dev/null
}

# field NAME WAY FILE: a value from the JSON line of a way.
field() { sed -n "s/^{\"way\":\"$2\".*\"$1\":\([0-9.]*\).*/\1/p" "$3" | tail -n 1; }
state() { sed -n 's/.*"state":"\([0-9a-f]*\)".*/\1/p' "$1" | tail -n 1; }
rounded() { awk -v digits="$1" -v scale="$2" -v x="$3" 'BEGIN { printf "%.*f", digits, x * scale }'; }

say "1. A run of $steps steps that nothing interrupts; restart files every $every steps, in three ways"
mkdir "$work/whole"
simulate --io all --dir "$work/whole" --read-back --json "$work/whole.json" "${progress[@]}" |
  sed '/^way /,/^state/ { /^state/!d }' | indent || fail "the simulation failed"
expected=$(state "$work/whole.json")
[ -n "$expected" ] || fail "the simulation printed no state"

say "2. What is in the multifile of step $steps  (sheaf dump)"
multifile=$work/whole/$(printf 'restart.%06d.sion' $steps)
"$bin/../demo/sheaf" dump "$multifile" >"$work/dump" 2>&1 || fail "sheaf dump failed: $(cat "$work/dump")"
head -n 24 "$work/dump" | sed "s|$work/||g" | indent
[ "$(wc -l <"$work/dump")" -le 24 ] || echo "    ..."

say "3. The same run, killed after step $death"
mkdir "$work/killed"
status=0
simulate --io all --dir "$work/killed" --die-at-step $death >"$work/killed.out" 2>"$work/killed.err" || status=$?
indent <"$work/killed.out"
[ $status -ne 0 ] || fail "the run that should have been killed came to its end"
grep -q 'kill themselves' "$work/killed.out" || fail "the run died early: $(tail -n 5 "$work/killed.err")"
echo "    mpirun ended with status $status"

say "4. Restarts from what the killed run has left"
verdict=0
for way in multifile tasklocal single; do
  echo "    --io $way"
  simulate --io $way --dir "$work/killed" --restart --json "$work/$way.json" "${progress[@]}" >"$work/$way.out" ||
    fail "the restart with --io $way failed"
  grep -E '^(restart|state)' "$work/$way.out" | sed "s|$work/||g" | indent | indent
  [ "$(state "$work/$way.json")" = "$expected" ] || verdict=1
done

say "Restart files of $(with_commas "$particles") particles, $tasks tasks (through the page cache, no sync)"
row() { printf '    %-10s %6s %9s %9s %9s %9s %9s   %s\n' "$@"; }
row way files MB 'write s' MB/s 'read s' MB/s 'restart ends in'
for way in $ways; do
  of() { field "$1" "$way" "$work/whole.json"; }
  same="the same state"
  [ "$(state "$work/$way.json")" = "$expected" ] || same="ANOTHER STATE"
  row "$way" "$(of files)" "$(rounded 1 1e-6 "$(of bytes)")" "$(rounded 3 1 "$(of write_s)")" \
    "$(rounded 0 1 "$(of write_mb_s)")" "$(rounded 3 1 "$(of read_s)")" "$(rounded 0 1 "$(of read_mb_s)")" "$same"
done

say "State after step $steps, over all bits of all particles"
printf '    %-28s %s\n' "uninterrupted" "$expected"
for way in $ways; do printf '    %-28s %s\n' "killed, restarted, $way" "$(state "$work/$way.json")"; done

say "What happened"
cat <<TEXT
    $tasks tasks simulated $(with_commas "$particles") particles and stored them in three ways at each checkpoint:
    as $tasks logical files in a multifile ($(field files multifile "$work/whole.json") on disk), as task-local files ($(field files tasklocal "$work/whole.json") on disk), and as a single
    file, for which all data went through one task.
    A second run was killed with SIGKILL at step $death. Its newest complete checkpoint was that of step $last_checkpoint.
TEXT
if [ $verdict -ne 0 ]; then
  fail "a restarted run did NOT end in the state of the uninterrupted run"
fi
echo "    Restarted from it, in each of the three ways, the run ended in the same state, bit for bit."
