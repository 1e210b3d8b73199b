# How ctest shares the processors (docs/testing.md). `make test` runs two tests more than there are processors, because many wait: for
# locks, silence of listeners, leases. A test that starts programs of MPI counts as two. Programs of an MPI whose tasks never yield
# (MPICH and its kind) run alone: beside others each message takes a time slice of the scheduler.

# sheaf_mpi_processors(MPI COUNT TEST...): these start COUNT tasks of this MPI.
function(sheaf_mpi_processors mpi count)
  if(count GREATER 1)
    set(processors 2)
    if(NOT SHEAF_INTERFACE_${mpi} STREQUAL openmpi)
      set(processors 4)  # alone, with two processors
    endif()
    set_tests_properties(${ARGN} PROPERTIES PROCESSORS ${processors})
  endif()
endfunction()

# sheaf_long(SECONDS TEST...): about so long; the longest begin first. Only the order counts.
function(sheaf_long seconds)
  foreach(test ${ARGN})
    if(TEST ${test})
      set_tests_properties(${test} PROPERTIES COST ${seconds})
    endif()
  endforeach()
endfunction()
