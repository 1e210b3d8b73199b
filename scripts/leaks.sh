#!/bin/sh
# leaks.sh [BUILD]: runs valgrind on the tools and on test programs. Exit code 1 if memory leaks or is misused. The
# tools run as in their own tests. Tests of simulated ranks are excluded, because valgrind does not recognize their
# stacks.
set -eu
cd "$(dirname "$0")/.."
bin=$PWD/${1:-build}/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
check="valgrind -q --leak-check=full --errors-for-leak-kinds=definite,indirect --error-exitcode=99"

failed=0
run() {
  name=$1
  shift
  if "$@" >"$work/$name.out" 2>&1; then
    echo "$name: no leaks"
  else
    failed=1
    echo "$name: $(grep -c '==.* at 0x' "$work/$name.out" || true) errors"
    tail -40 "$work/$name.out"
  fi
}

run test_base $check "$bin/test_base"
run test_format $check "$bin/test_format"
run test_format $check "$bin/test_format"
run test_api $check "$bin/test_api" --gtest_filter='-Api.*:Generic*'

# Every `sheaf` process that the tests start is checked.
mkdir "$work/bin"
ln -s "$bin"/* "$work/bin"
rm "$work/bin/sheaf"
printf '#!/bin/sh\nexec %s --log-file=%s/sheaf.%%p %s/sheaf "$@"\n' "$check" "$work" "$bin" >"$work/bin/sheaf"
chmod +x "$work/bin/sheaf"
SHEAF_BIN=$work/bin
SHEAF_TOOL_SECONDS=300
export SHEAF_BIN SHEAF_TOOL_SECONDS
run tools python3 -B tests/cli/test_tools_command_line.py -q
for log in "$work"/sheaf.*; do
  [ ! -s "$log" ] || {
    failed=1
    cat "$log"
  }
done
echo "$(ls "$work" | grep -c '^sheaf\.') runs of sheaf checked"
exit $failed
