# How ctest shares the processors (docs/testing.md). `make test` runs two more tests than there are processors, because many tests
# wait: for locks, silent listeners or leases. A test that starts MPI programs counts as two. Programs of an MPI with tasks that
# never yield (MPICH and its derivatives) run alone: next to other tests each message takes a time slice of the scheduler.

# sheaf_mpi_processors(MPI COUNT TEST...): the tests start COUNT tasks of this MPI.
function(sheaf_mpi_processors mpi count)
  if(count GREATER 1)
    set(processors 2)
    if(NOT SHEAF_INTERFACE_${mpi} STREQUAL openmpi)
      set(processors 4)  # alone, with two processors
    endif()
    set_tests_properties(${ARGN} PROPERTIES PROCESSORS ${processors})
  endif()
endfunction()

# sheaf_long(SECONDS TEST...): approximate duration of the tests; the longest start first. Only the order matters.
function(sheaf_long seconds)
  foreach(test ${ARGN})
    if(TEST ${test})
      set_tests_properties(${test} PROPERTIES COST ${seconds})
    endif()
  endforeach()
endfunction()
