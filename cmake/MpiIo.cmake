# libsheaf_mpiio_<mpi>.so: the MPI-IO drop-in, one for every MPI, whole in itself (the core is linked in) so that it can be
# preloaded or stand before the MPI library when linking. lib/<mpi>/libsheaf_mpiio.so is another name of it.
file(GLOB mpiio_sources CONFIGURE_DEPENDS src/api/mpiio/*.cpp)
set(mpiio_exports ${PROJECT_SOURCE_DIR}/src/api/mpiio/exports.map)
foreach(mpi ${SHEAF_MPIS})
  add_library(sheaf_mpiio_${mpi} SHARED ${mpiio_sources}
    "$<FILTER:$<TARGET_OBJECTS:sheaf_${mpi}_objects>,INCLUDE,/(unity_)?comm[/_]>")
  target_include_directories(sheaf_mpiio_${mpi} PRIVATE src include)
  sheaf_unity(sheaf_mpiio_${mpi})
  # The MPI library stays needed although nothing but PMPI_ names of it is called: a program may load it privately.
  target_link_options(sheaf_mpiio_${mpi} PRIVATE -Wl,--no-as-needed -Wl,--version-script=${mpiio_exports} -Wl,-z,nodelete)
  target_link_libraries(sheaf_mpiio_${mpi} PRIVATE sheaf_warnings sheaf_static mpi_${mpi} ${CMAKE_DL_LIBS})
  # The list of exports decides alone: mpi.h declares some names without visibility.
  set_target_properties(sheaf_mpiio_${mpi} PROPERTIES LINK_DEPENDS ${mpiio_exports} CXX_VISIBILITY_PRESET default)
  add_custom_command(TARGET sheaf_mpiio_${mpi} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lib/${mpi}
    COMMAND ${CMAKE_COMMAND} -E create_symlink ../$<TARGET_FILE_NAME:sheaf_mpiio_${mpi}>
      ${CMAKE_BINARY_DIR}/lib/${mpi}/libsheaf_mpiio.so VERBATIM)
  install(TARGETS sheaf_mpiio_${mpi} LIBRARY DESTINATION lib)
  install(CODE "file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/${mpi}\")
    file(CREATE_LINK ../libsheaf_mpiio_${mpi}.so \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/${mpi}/libsheaf_mpiio.so\" SYMBOLIC)")
endforeach()
