# libsheaf_mpiio.so: the MPI-IO drop-in, to be preloaded or linked before the MPI library. It contains entry points
# that load the engine for the program's MPI library (src/mpiio/api/front), sheaf/libsheaf_mpiio_<interface>.so. An
# engine contains the core and is self-contained except for the MPI, which the program has loaded.
# libsheaf_mpiio_<mpi>.so and <mpi>/libsheaf_mpiio.so are alternative names. If several MPIs share an interface, the
# first one builds the engine. The target sheaf_mpiio_alone, for tests, puts into alone/<mpi>/ what a build with only
# this MPI would contain.
add_custom_target(sheaf_mpiio_alone)
if(NOT SHEAF_MPIS)
  return()
endif()
set(front ${PROJECT_SOURCE_DIR}/src/mpiio/api/front)
add_library(sheaf_mpiio SHARED ${front}/front.c ${front}/fortran.c ${front}/json.c ${front}/loaded_mpi.c ${front}/stand_in.c)
target_link_options(sheaf_mpiio PRIVATE -Wl,--version-script=${front}/exports.map
  -Wl,--as-needed)  # the C compiler may be a wrapper that adds an MPI library
target_compile_options(sheaf_mpiio PRIVATE -Wall -Wextra -Wshadow)
target_link_libraries(sheaf_mpiio PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
set_target_properties(sheaf_mpiio PROPERTIES LINK_DEPENDS ${front}/exports.map)
install(TARGETS sheaf_mpiio LIBRARY DESTINATION ${SHEAF_LIB})

sheaf_sources(mpiio_sources ${SHEAF_MPIIO_FOLDERS})
set(mpiio_exports ${PROJECT_SOURCE_DIR}/src/mpiio/api/exports.map)
set(interfaces "")
foreach(mpi ${SHEAF_MPIS})
  set(interface ${SHEAF_INTERFACE_${mpi}})
  add_library(sheaf_mpiio_${mpi} MODULE ${mpiio_sources}
    "$<FILTER:$<TARGET_OBJECTS:sheaf_${mpi}_objects>,INCLUDE,/(unity_mpi_|comm/mpi/)>")
  add_dependencies(sheaf_mpiio_${mpi} sheaf_${mpi}_objects)
  target_include_directories(sheaf_mpiio_${mpi} PRIVATE src include)
  sheaf_unity(sheaf_mpiio_${mpi})
  sheaf_for_size(sheaf_mpiio_${mpi})
  target_include_directories(sheaf_mpiio_${mpi} SYSTEM PRIVATE $<TARGET_PROPERTY:mpi_${mpi},INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(sheaf_mpiio_${mpi} PRIVATE $<TARGET_PROPERTY:mpi_${mpi},INTERFACE_COMPILE_DEFINITIONS>)
  target_link_options(sheaf_mpiio_${mpi} PRIVATE -Wl,--version-script=${mpiio_exports} -Wl,-Bsymbolic)
  target_link_libraries(sheaf_mpiio_${mpi} PRIVATE sheaf_warnings sheaf_sharedfile ${CMAKE_DL_LIBS})
  # Only the list of exports decides: mpi.h declares some names without visibility.
  set_target_properties(sheaf_mpiio_${mpi} PROPERTIES LINK_DEPENDS ${mpiio_exports} CXX_VISIBILITY_PRESET default
    OUTPUT_NAME sheaf_mpiio_${interface} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/sheaf)
  set(alone ${CMAKE_BINARY_DIR}/alone/${mpi})
  add_custom_target(sheaf_mpiio_alone_${mpi}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${alone}/sheaf
    COMMAND ${CMAKE_COMMAND} -E copy_if_different $<TARGET_FILE:sheaf_mpiio> ${alone}/libsheaf_mpiio.so
    COMMAND ${CMAKE_COMMAND} -E copy_if_different $<TARGET_FILE:sheaf_mpiio_${mpi}> ${alone}/sheaf/libsheaf_mpiio_${interface}.so
    VERBATIM)
  add_dependencies(sheaf_mpiio_alone_${mpi} sheaf_mpiio_${mpi} sheaf_mpiio)
  add_dependencies(sheaf_mpiio_alone sheaf_mpiio_alone_${mpi})
  if(interface IN_LIST interfaces)  # the engine of another MPI with this interface is used
    set_target_properties(sheaf_mpiio_${mpi} PROPERTIES EXCLUDE_FROM_ALL TRUE
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/alone/${mpi}/built)
    continue()
  endif()
  list(APPEND interfaces ${interface})
  add_custom_command(TARGET sheaf_mpiio_${mpi} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lib/${mpi}
    COMMAND ${CMAKE_COMMAND} -E create_symlink libsheaf_mpiio.so ${CMAKE_BINARY_DIR}/lib/libsheaf_mpiio_${mpi}.so
    COMMAND ${CMAKE_COMMAND} -E create_symlink ../libsheaf_mpiio.so ${CMAKE_BINARY_DIR}/lib/${mpi}/libsheaf_mpiio.so VERBATIM)
  add_dependencies(sheaf_mpiio_${mpi} sheaf_mpiio)
  install(TARGETS sheaf_mpiio_${mpi} LIBRARY DESTINATION ${SHEAF_LIB}/sheaf)
  if(SHEAF_SYSTEM_LAYOUT)
    continue()
  endif()
  install(CODE "set(lib \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${SHEAF_LIB}\")
    file(MAKE_DIRECTORY \"\${lib}/${mpi}\")
    file(CREATE_LINK libsheaf_mpiio.so \"\${lib}/libsheaf_mpiio_${mpi}.so\" SYMBOLIC)
    file(CREATE_LINK ../libsheaf_mpiio.so \"\${lib}/${mpi}/libsheaf_mpiio.so\" SYMBOLIC)")
endforeach()
