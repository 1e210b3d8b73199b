# How ctest shares the processors (docs/testing.md). `make test` runs four more tests than there are processors, because many tests
# wait: for locks, silent listeners or leases. A test that starts MPI programs counts as two. Programs of an MPI with tasks that
# never yield (MPICH and its derivatives) run alone: next to other tests each message takes a time slice of the scheduler.
set(SHEAF_MPI_TEST 2)
set(SHEAF_ALONE 1000)  # ctest reduces it to the number of tests that may run at a time

# sheaf_mpi_processors(MPI COUNT TEST...): the tests start COUNT tasks of this MPI.
function(sheaf_mpi_processors mpi count)
  if(count GREATER 1)
    set(processors ${SHEAF_MPI_TEST})
    if(NOT SHEAF_INTERFACE_${mpi} STREQUAL openmpi)
      set(processors ${SHEAF_ALONE})
    endif()
    set_tests_properties(${ARGN} PROPERTIES PROCESSORS ${processors})
  endif()
endfunction()

# sheaf_waits(TEST...): the tests start MPI programs that wait most of the time, for locks or for one another's leases.
function(sheaf_waits)
  foreach(test ${ARGN})
    if(TEST ${test})
      set_tests_properties(${test} PROPERTIES PROCESSORS 1)
    endif()
  endforeach()
endfunction()

# sheaf_long(SECONDS TEST...): approximate duration of the tests; the longest start first. Only the order matters.
function(sheaf_long seconds)
  foreach(test ${ARGN})
    if(TEST ${test})
      set_tests_properties(${test} PROPERTIES COST ${seconds})
    endif()
  endforeach()
endfunction()
