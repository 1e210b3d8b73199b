# lib/libsheaf_mpi.a: one static archive for all MPIs (packaging/mpi_dispatch.sh), which -lsionmpi_64 refers to. It
# contains the objects of the first MPI of each binary interface. The standard ABI of MPI 5 is included only if there
# is no other, because a program does not show which of the two it is linked with. Its own libsheaf_mpi.a is in
# lib/<mpi>/.
if(NOT SHEAF_MPIS)
  return()
endif()
set(archive ${CMAKE_BINARY_DIR}/lib/libsheaf_mpi.a)
set(dispatched "")
set(interfaces "")
set(variants "")
set(objects "")
foreach(interface openmpi mpich abi)
  foreach(mpi ${SHEAF_MPIS})
    if(SHEAF_INTERFACE_${mpi} STREQUAL interface AND NOT interface IN_LIST interfaces
        AND NOT (interface STREQUAL "abi" AND dispatched))
      list(APPEND interfaces ${interface})
      list(APPEND dispatched ${mpi})
      sheaf_objects_of(of_mpi sheaf_${mpi}_objects)
      list(APPEND variants "${interface}:$<JOIN:${of_mpi},$<COMMA>>")
      list(APPEND objects ${of_mpi})
    endif()
  endforeach()
endforeach()
list(LENGTH dispatched count)
if(count EQUAL 1)
  add_custom_command(OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E create_symlink ${dispatched}/libsheaf_mpi.a ${archive}
    DEPENDS sheaf_${dispatched}_static VERBATIM)
else()
  set(dispatch ${PROJECT_SOURCE_DIR}/packaging/mpi_dispatch.sh)
  add_custom_command(OUTPUT ${archive} COMMAND ${dispatch} ${archive} ${CMAKE_BINARY_DIR}/CMakeFiles/mpi_dispatch ${variants}
    DEPENDS ${dispatch} ${objects} VERBATIM)
endif()
add_custom_target(sheaf_mpi_dispatch ALL DEPENDS ${archive})
foreach(mpi ${dispatched})
  add_dependencies(sheaf_mpi_dispatch sheaf_${mpi}_objects)
endforeach()
# The archive's own name is a linker script (packaging/install_classic.cmake.in), which also lists the C++ runtime.
install(FILES ${archive} DESTINATION ${SHEAF_LIB} RENAME libsheaf_mpi_objects.a)
