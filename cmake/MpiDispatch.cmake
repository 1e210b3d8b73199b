# lib/libsheaf_mpi.a: one static archive for all MPIs (packaging/mpi_dispatch.sh), behind the name -lsionmpi_64.
if(NOT SHEAF_MPIS)
  return()
endif()
set(archive ${CMAKE_BINARY_DIR}/lib/libsheaf_mpi.a)
list(LENGTH SHEAF_MPIS count)
if(count EQUAL 1)
  add_custom_command(OUTPUT ${archive} COMMAND ${CMAKE_COMMAND} -E create_symlink ${SHEAF_MPIS}/libsheaf_mpi.a ${archive}
    DEPENDS sheaf_${SHEAF_MPIS}_static VERBATIM)
else()
  set(variants "")
  set(objects "")
  foreach(mpi ${SHEAF_MPIS})
    list(APPEND variants "${mpi}:$<JOIN:$<TARGET_OBJECTS:sheaf_${mpi}_objects>,$<COMMA>>")
    list(APPEND objects $<TARGET_OBJECTS:sheaf_${mpi}_objects>)
  endforeach()
  set(dispatch ${PROJECT_SOURCE_DIR}/packaging/mpi_dispatch.sh)
  add_custom_command(OUTPUT ${archive} COMMAND ${dispatch} ${archive} ${CMAKE_BINARY_DIR}/CMakeFiles/mpi_dispatch ${variants}
    DEPENDS ${dispatch} ${objects} VERBATIM)
endif()
add_custom_target(sheaf_mpi_dispatch ALL DEPENDS ${archive})
# Under its own name there is a linker script (packaging/install_classic.cmake.in), which names the C++ runtime too.
install(FILES ${archive} DESTINATION ${SHEAF_LIB} RENAME libsheaf_mpi_objects.a)
