# libsheaf_sfio: striped files over I/O listeners, for each MPI, in lib/<mpi>; libsheaf_sfio_main for programs that begin in
# _main(); the listener program sheaf-iod, in bin/<mpi> here and in libexec/sheaf/<mpi> when installed, where bin/sheaf-iod
# starts the one that belongs to the MPI of its launcher.
file(GLOB sfio_sources CONFIGURE_DEPENDS src/api/sfio/*.cpp)
list(FILTER sfio_sources EXCLUDE REGEX "/iod")

foreach(mpi ${SHEAF_MPIS})
  set(directory ${CMAKE_BINARY_DIR}/lib/${mpi})
  add_library(sheaf_sfio_${mpi}_objects OBJECT ${sfio_sources})
  target_include_directories(sheaf_sfio_${mpi}_objects PUBLIC src include)
  target_link_libraries(sheaf_sfio_${mpi}_objects PRIVATE sheaf_warnings mpi_${mpi})
  sheaf_unity(sheaf_sfio_${mpi}_objects)
  add_library(sheaf_sfio_${mpi} SHARED $<TARGET_OBJECTS:sheaf_sfio_${mpi}_objects>)
  add_library(sheaf_sfio_${mpi}_static STATIC $<TARGET_OBJECTS:sheaf_sfio_${mpi}_objects>)
  target_link_libraries(sheaf_sfio_${mpi} PUBLIC sheaf_${mpi} mpi_${mpi} PRIVATE Threads::Threads)
  target_link_libraries(sheaf_sfio_${mpi}_static PUBLIC sheaf_${mpi}_static sheaf_static mpi_${mpi} Threads::Threads)
  add_library(sheaf_sfio_main_${mpi} STATIC src/api/sfio/paper_main.c)
  target_include_directories(sheaf_sfio_main_${mpi} PUBLIC include)
  target_link_libraries(sheaf_sfio_main_${mpi} PRIVATE sheaf_warnings PUBLIC sheaf_sfio_${mpi})
  set_target_properties(sheaf_sfio_${mpi} sheaf_sfio_${mpi}_static PROPERTIES OUTPUT_NAME sheaf_sfio)
  set_target_properties(sheaf_sfio_main_${mpi} PROPERTIES OUTPUT_NAME sheaf_sfio_main)
  set_target_properties(sheaf_sfio_${mpi} sheaf_sfio_${mpi}_static sheaf_sfio_main_${mpi} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${directory} ARCHIVE_OUTPUT_DIRECTORY ${directory})
  set_target_properties(sheaf_sfio_${mpi} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 1)

  add_executable(sheaf_iod_${mpi} src/api/sfio/iod.cpp)
  target_compile_definitions(sheaf_iod_${mpi} PRIVATE SHEAF_VERSION="${PROJECT_VERSION}")
  target_link_libraries(sheaf_iod_${mpi} PRIVATE sheaf_warnings sheaf_sfio_${mpi}_static OpenMP::OpenMP_CXX)
  set_target_properties(sheaf_iod_${mpi} PROPERTIES OUTPUT_NAME sheaf-iod
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/${mpi})
  install(TARGETS sheaf_iod_${mpi} DESTINATION libexec/sheaf/${mpi})
  install(TARGETS sheaf_sfio_${mpi} sheaf_sfio_${mpi}_static sheaf_sfio_main_${mpi}
    LIBRARY DESTINATION lib/${mpi} ARCHIVE DESTINATION lib/${mpi})
  set_target_properties(sheaf_sfio_${mpi} PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/..")
  configure_file(packaging/pkgconfig/sheaf-sfio.pc.in ${CMAKE_BINARY_DIR}/pkgconfig/sheaf-sfio-${mpi}.pc @ONLY)
endforeach()
if(SHEAF_MPIS)
  list(JOIN SHEAF_MPIS " " mpis)
  set(name sheaf-iod)
  configure_file(packaging/partest.in ${CMAKE_BINARY_DIR}/packaged/sheaf-iod @ONLY)
  install(PROGRAMS ${CMAKE_BINARY_DIR}/packaged/sheaf-iod DESTINATION bin)
endif()
