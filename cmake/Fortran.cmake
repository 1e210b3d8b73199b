# libsheaf_fortran, libsheaf_fortran_omp, libsheaf_fortran_mpi: the modules and the FORTRAN 77 entry points, if there is a
# Fortran compiler. SHEAF_FORTRAN tells. Nothing here depends on an MPI but src/api/fortran/fsion_mpi.cpp and
# fsion_ompi.cpp, which go into libsheaf_mpi of every MPI.
include(CheckLanguage)
check_language(Fortran)
set(SHEAF_FORTRAN OFF)
if(CMAKE_Fortran_COMPILER)
  enable_language(Fortran)
  set(SHEAF_FORTRAN ON)
endif()
if(NOT SHEAF_FORTRAN)
  message(STATUS "Fortran: none")
  return()
endif()
set(CMAKE_Fortran_FLAGS_RELWITHDEBINFO "-O2 -g")
set(fortran ${PROJECT_SOURCE_DIR}/src/api/fortran)
set(SHEAF_FORTRAN_MODULES ${CMAKE_BINARY_DIR}/mod)

function(sheaf_fortran_objects name)
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${name} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow>
    $<$<COMPILE_LANG_AND_ID:Fortran,GNU>:-Wall -Wextra -ffree-line-length-none
      -frecursive>  # threads call the modules
    $<$<BOOL:${SHEAF_DEVELOPER}>:-Werror>)
  set_target_properties(${name} PROPERTIES Fortran_MODULE_DIRECTORY ${SHEAF_FORTRAN_MODULES})
endfunction()

function(sheaf_fortran_library name output)
  add_library(${name} SHARED ${ARGN})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${output} LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION 1)
  target_include_directories(${name} INTERFACE ${SHEAF_FORTRAN_MODULES} ${PROJECT_SOURCE_DIR}/include)
endfunction()

sheaf_fortran_objects(sheaf_fortran_objects ${fortran}/sion_f90.F90 ${fortran}/fsion.cpp ${fortran}/fsion_data.cpp)
sheaf_fortran_objects(sheaf_fortran_omp_objects ${fortran}/sion_f90_omp.F90 ${fortran}/fsion_omp.cpp)
sheaf_fortran_objects(sheaf_fortran_mpi_objects ${fortran}/sion_f90_mpi.F90 ${fortran}/sion_f90_ompi.F90
  ${fortran}/fsion_coll.cpp)
foreach(family omp mpi)
  target_include_directories(sheaf_fortran_${family}_objects PRIVATE ${SHEAF_FORTRAN_MODULES})
  add_dependencies(sheaf_fortran_${family}_objects sheaf_fortran_objects)
endforeach()

sheaf_fortran_library(sheaf_fortran sheaf_fortran $<TARGET_OBJECTS:sheaf_fortran_objects>)
target_link_libraries(sheaf_fortran PUBLIC sheaf)
sheaf_fortran_library(sheaf_fortran_omp sheaf_fortran_omp $<TARGET_OBJECTS:sheaf_fortran_omp_objects>)
target_link_libraries(sheaf_fortran_omp PUBLIC sheaf_fortran sheaf_omp)
add_library(sheaf_fortran_static STATIC $<TARGET_OBJECTS:sheaf_fortran_objects>
  $<TARGET_OBJECTS:sheaf_fortran_omp_objects> $<TARGET_OBJECTS:sheaf_fortran_mpi_objects>)
set_target_properties(sheaf_fortran_static PROPERTIES OUTPUT_NAME sheaf_fortran LINKER_LANGUAGE CXX)

# The standard ABI leaves Fortran to a library of its own.
set(SHEAF_FORTRAN_MPIS ${SHEAF_MPIS})
foreach(mpi ${SHEAF_MPIS})
  if(SHEAF_INTERFACE_${mpi} STREQUAL "abi")
    list(REMOVE_ITEM SHEAF_FORTRAN_MPIS ${mpi})
    list(APPEND SHEAF_NOT_BUILT "Fortran for ${mpi}: the standard ABI has no handles of Fortran in its mpi.h")
  endif()
endforeach()
set_source_files_properties(${fortran}/fsion_ompi.cpp PROPERTIES COMPILE_OPTIONS "${OpenMP_CXX_FLAGS}")
foreach(mpi ${SHEAF_FORTRAN_MPIS})
  target_sources(sheaf_${mpi}_objects PRIVATE ${fortran}/fsion_mpi.cpp ${fortran}/fsion_ompi.cpp)
  sheaf_fortran_library(sheaf_fortran_${mpi} sheaf_fortran_mpi $<TARGET_OBJECTS:sheaf_fortran_mpi_objects>)
  target_link_libraries(sheaf_fortran_${mpi} PUBLIC sheaf_fortran sheaf_${mpi})
  set_target_properties(sheaf_fortran_${mpi} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/${mpi})
endforeach()

# The module of striped files, the same for every MPI, over the libsheaf_sfio of each.
sheaf_fortran_objects(sheaf_fortran_sfio_objects ${fortran}/sfio_f90.F90)
foreach(mpi ${SHEAF_FORTRAN_MPIS})
  sheaf_fortran_library(sheaf_fortran_sfio_${mpi} sheaf_fortran_sfio $<TARGET_OBJECTS:sheaf_fortran_sfio_objects>)
  target_link_libraries(sheaf_fortran_sfio_${mpi} PUBLIC sheaf_sfio_${mpi})
  set_target_properties(sheaf_fortran_sfio_${mpi} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/${mpi}
    INSTALL_RPATH "$ORIGIN;$ORIGIN/..")
  install(TARGETS sheaf_fortran_sfio_${mpi} LIBRARY DESTINATION lib/${mpi})
  configure_file(packaging/pkgconfig/sheaf-fortran-sfio.pc.in ${CMAKE_BINARY_DIR}/pkgconfig/sheaf-fortran-sfio-${mpi}.pc @ONLY)
endforeach()

# What programs in Fortran need of an MPI: mpi_fortran_<mpi>.
foreach(mpi ${SHEAF_FORTRAN_MPIS})
  if(SHEAF_MPIF90_${mpi})
    execute_process(COMMAND ${SHEAF_MPIF90_${mpi}} -show OUTPUT_VARIABLE line OUTPUT_STRIP_TRAILING_WHITESPACE)
    separate_arguments(flags UNIX_COMMAND "${line}")
    set(includes ${flags})
    set(links ${flags})
    list(FILTER includes INCLUDE REGEX "^-I")
    list(TRANSFORM includes REPLACE "^-I" "")
    list(FILTER links INCLUDE REGEX "^-[lL]")
    add_library(mpi_fortran_${mpi} INTERFACE)
    target_include_directories(mpi_fortran_${mpi} SYSTEM INTERFACE ${includes})
    target_link_libraries(mpi_fortran_${mpi} INTERFACE ${links})
  endif()
endforeach()
