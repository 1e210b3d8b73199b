# Where things are installed, relative to the prefix.
#
# The ordinary layout is for a prefix that belongs to Sheaf: everything is in lib/, and the libraries for an MPI are
# in lib/<mpi>/, found by relative run paths. SHEAF_SYSTEM_LAYOUT is for directories that all programs search, such as
# /usr. The shared libraries for an MPI are beside the others and include its name (libsheaf_openmpi.so.1), and
# nothing has a run path. Files that only linkers need of an MPI are in <libdir>/sheaf/<mpi>/, under the same names as
# in the ordinary layout. SHEAF_RELOCATABLE is the ordinary layout without recorded prefixes, and without libraries
# other than the compiler's, the MPI's and the C library; only sheaf-mount needs libfuse 3.
option(SHEAF_SYSTEM_LAYOUT "Install for a prefix that belongs to the system, such as /usr" OFF)
option(SHEAF_RELOCATABLE "Install what works wherever its directory is moved" OFF)
option(SHEAF_STRIP "Strip programs and libraries of a release build when they are installed" ON)
if(SHEAF_SYSTEM_LAYOUT AND SHEAF_RELOCATABLE)
  message(FATAL_ERROR "SHEAF_SYSTEM_LAYOUT and SHEAF_RELOCATABLE exclude each other: a system's prefix is fixed. Turn one off.")
endif()

set(CMAKE_INSTALL_LIBDIR lib CACHE STRING "Libraries, below the prefix")
include(GNUInstallDirs)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  message(FATAL_ERROR "CMAKE_INSTALL_LIBDIR is '${CMAKE_INSTALL_LIBDIR}': give it relative to the prefix, as in lib64")
endif()
set(SHEAF_LIB ${CMAKE_INSTALL_LIBDIR})
set(SHEAF_MODULES include/mod_64 CACHE STRING "Fortran modules, below the prefix")

file(RELATIVE_PATH SHEAF_LIB_TO_PREFIX /p/${SHEAF_LIB} /p)      # ..
file(RELATIVE_PATH SHEAF_BIN_TO_LIB /p/bin /p/${SHEAF_LIB})     # ../lib
if(SHEAF_SYSTEM_LAYOUT)
  set(SHEAF_MPI_LIB ${SHEAF_LIB}/sheaf)
  set(SHEAF_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
  set(CMAKE_SKIP_INSTALL_RPATH ON)
else()
  set(SHEAF_MPI_LIB ${SHEAF_LIB})
  file(RELATIVE_PATH SHEAF_PC_PREFIX /p/${SHEAF_LIB}/pkgconfig /p)
  set(SHEAF_PC_PREFIX "\${pcfiledir}/${SHEAF_PC_PREFIX}")
  set(SHEAF_PC_RPATH "-Wl,-rpath,\${libdir} ")
endif()

# The run paths of a library for an MPI, and of a program in libexec/sheaf/<mpi>.
set(SHEAF_MPI_LIB_RPATH "$ORIGIN;$ORIGIN/..")
function(sheaf_libexec_rpath result mpi)
  set(up "$ORIGIN/../../..")
  set(${result} "${up}/${SHEAF_MPI_LIB}/${mpi};${up}/${SHEAF_LIB}" PARENT_SCOPE)
endfunction()

# sheaf_absolute_run_path(TARGET): the run path of the installed `sheaf` command also names the prefix, unless that may move or is one
# that all programs search. The prefix is known when installing; a run path can then be no longer than the one of the build.
set(SHEAF_RUN_PATH_ROOM 512)  # bytes of a library directory
function(sheaf_absolute_run_path target)
  if(SHEAF_SYSTEM_LAYOUT OR SHEAF_RELOCATABLE OR SHEAF_PYTHON OR SHEAF_FLAVOUR STREQUAL "tools")
    return()
  endif()
  if(CMAKE_BUILD_WITH_INSTALL_RPATH)
    set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH "${CMAKE_INSTALL_PREFIX}/${SHEAF_LIB}")
    return()
  endif()
  string(REPEAT "/" ${SHEAF_RUN_PATH_ROOM} room)  # the root directory, for the linker
  set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH ${room})
  configure_file(${PROJECT_SOURCE_DIR}/packaging/run_path.cmake.in ${PROJECT_BINARY_DIR}/run_path.cmake @ONLY)
  install(SCRIPT ${PROJECT_BINARY_DIR}/run_path.cmake)
endfunction()

# sheaf_install_mpi(TARGET MPI NAME): installs the shared library of TARGET, which programs link as lib<NAME>.so.
function(sheaf_install_mpi target mpi name)
  if(NOT SHEAF_SYSTEM_LAYOUT)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} INSTALL_RPATH "${SHEAF_MPI_LIB_RPATH}")
    install(TARGETS ${target} LIBRARY DESTINATION ${SHEAF_LIB}/${mpi})
    return()
  endif()
  # sheaf_sfio of openmpi: libsheaf_sfio_openmpi.so.1; sheaf_mpi: libsheaf_openmpi.so.1
  string(REGEX REPLACE "_mpi$" "" own ${name})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${own}_${mpi})
  install(TARGETS ${target} LIBRARY DESTINATION ${SHEAF_LIB})
  file(RELATIVE_PATH back /${SHEAF_MPI_LIB}/${mpi} /${SHEAF_LIB})
  install(CODE "set(directory \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${SHEAF_MPI_LIB}/${mpi}\")
    file(MAKE_DIRECTORY \"\${directory}\")
    file(CREATE_LINK ${back}lib${own}_${mpi}.so.1 \"\${directory}/lib${name}.so\" SYMBOLIC)")
endfunction()
