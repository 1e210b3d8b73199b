#!/bin/sh
# sanitize.sh BUILD [CTEST-OPTION ...]: runs the suite of a build with sanitizers.
#
# Excluded: scale measures bytes and time of a million tasks; test_install, test_partest, test_public_libraries and
# test_sionconfig build or start programs of their own; real_limits, system_calls and campaign_processes insert layers
# below a program that sanitizers do not support (the campaign on fibers runs); behaviour, differential, faults,
# in_place and the kill loop load our libraries into other programs, or kill programs.
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
rules=$PWD/tests/sanitizers
jobs=${JOBS:-$(nproc)}

export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS="suppressions=$rules/threads.supp second_deadlock_stack=1"
# Archer reports the barriers of OpenMP to ThreadSanitizer (cmake/Sanitize.cmake).
OMP_TOOL_LIBRARIES=$(find /usr/lib/llvm-*/lib -name libarcher.so 2>/dev/null | head -1)
export OMP_TOOL_LIBRARIES
# UCX, used by MPICH, intercepts madvise() and locks a mutex there, in threads that ThreadSanitizer does not know yet.
export UCX_MEM_EVENTS=no UCX_MEM_MMAP_HOOK_MODE=none

cd "$build"
code=0
without='mpich|openmpi|scale|test_install|test_partest|test_public_l|test_sionconfig|real_limits|system_calls|campaign_processes|behaviour|differential|test_faults|test_in_place|kill_loop'
loads='test_checksums|test_compression|test_journal'  # tests in which Python loads the library
mpi='^mpi_|test_files_by_sheaf'
ctest --output-on-failure -j "$jobs" -E "$without|$loads|$mpi" "$@" || code=1
# The MPIs and Python do not release all memory at exit.
export ASAN_OPTIONS="detect_leaks=0"
ctest --output-on-failure -j 1 -R "$mpi" "$@" || code=1
# The runtime and the libraries it intercepts must be loaded before our library. ThreadSanitizer's does not work with
# Python.
! grep -q '^SHEAF_SANITIZE:.*address' CMakeCache.txt ||
  LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libstdc++.so)" \
    ctest --output-on-failure -j "$jobs" -R "$loads" "$@" || code=1
exit $code
