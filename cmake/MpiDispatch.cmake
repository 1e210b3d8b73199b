# lib/libsheaf_mpi.a: one static archive for all MPIs (packaging/mpi_dispatch.sh), behind the name -lsionmpi_64.
if(SHEAF_MPIS)
  set(variants "")
  set(objects "")
  foreach(mpi ${SHEAF_MPIS})
    list(APPEND variants "${mpi}:$<JOIN:$<TARGET_OBJECTS:sheaf_${mpi}_objects>,$<COMMA>>")
    list(APPEND objects $<TARGET_OBJECTS:sheaf_${mpi}_objects>)
  endforeach()
  set(dispatch ${PROJECT_SOURCE_DIR}/packaging/mpi_dispatch.sh)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/lib/libsheaf_mpi.a
    COMMAND ${dispatch} ${CMAKE_BINARY_DIR}/lib/libsheaf_mpi.a ${CMAKE_BINARY_DIR}/CMakeFiles/mpi_dispatch ${variants}
    DEPENDS ${dispatch} ${objects} VERBATIM)
  add_custom_target(sheaf_mpi_dispatch ALL DEPENDS ${CMAKE_BINARY_DIR}/lib/libsheaf_mpi.a)
endif()
