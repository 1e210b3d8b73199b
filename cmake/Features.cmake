# The optional parts of this build. Nothing here is cached: the next run of CMake finds a part that has been installed
# since then, and only the file that contains or lists it is compiled again.
set(SHEAF_NOT_BUILT "")  # omitted parts and the reasons, for the summary

option(SHEAF_COMPRESSION "Use zstd, lz4 and zlib, where their headers are found" ON)
set(SHEAF_HEADERS "" CACHE PATH "Headers of the libraries that a wheel is built with; empty: where the compiler looks")

# sheaf_has_header(VARIABLE HEADER): whether the compiler finds the header.
function(sheaf_has_header variable header)
  separate_arguments(flags NATIVE_COMMAND "${CMAKE_CXX_FLAGS}")
  if(SHEAF_HEADERS)
    list(APPEND flags -isystem ${SHEAF_HEADERS})
  endif()
  if(CMAKE_SYSROOT)
    list(APPEND flags --sysroot=${CMAKE_SYSROOT})
  endif()
  set(source ${CMAKE_BINARY_DIR}/CMakeFiles/sheaf_has_header.cpp)
  file(WRITE ${source} "#include <${header}>\n")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${flags} -E ${source} RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
  if(code EQUAL 0)
    set(${variable} ON PARENT_SCOPE)
  else()
    set(${variable} OFF PARENT_SCOPE)
  endif()
endfunction()

# SHEAF_CODECS: the codecs to compile, those with headers present. Their libraries are loaded at first use.
set(SHEAF_CODECS "")
foreach(entry zstd:zstd.h:libzstd-dev lz4:lz4.h:liblz4-dev gzip:zlib.h:zlib1g-dev)
  string(REGEX MATCH "(.*):(.*):(.*)" unused ${entry})
  set(codec ${CMAKE_MATCH_1})
  set(header ${CMAKE_MATCH_2})
  set(package ${CMAKE_MATCH_3})
  set(found OFF)
  if(SHEAF_COMPRESSION)
    sheaf_has_header(found ${header})
  endif()
  if(found)
    list(APPEND SHEAF_CODECS ${codec})
    set_source_files_properties(${SHEAF_SOURCE_DIR}/format/codec/${codec}.cpp PROPERTIES COMPILE_DEFINITIONS SHEAF_HAS_CODEC)
  elseif(SHEAF_COMPRESSION)
    list(APPEND SHEAF_NOT_BUILT "compression with ${codec}: no ${header} was found (Debian: ${package})")
  endif()
endforeach()
if(NOT SHEAF_COMPRESSION)
  list(APPEND SHEAF_NOT_BUILT "compression: SHEAF_COMPRESSION is OFF")
endif()

# sheaf_describe_build(TARGET...): to be called after all libraries are defined. SHEAF_FEATURES lists the optional
# parts of this build, for `sionconfig --features`. `sheaf --version -v` prints them from cli/about/build.cpp, which
# is a source of these targets.
function(sheaf_describe_build)
  list(TRANSFORM SHEAF_MPIS PREPEND mpi- OUTPUT_VARIABLE features)
  foreach(part sheaf_omp:openmp sheaf_fortran:fortran sheaf_mpiio:mpiio sheaf_posix:capture sheaf_mount:mount)
    string(REGEX MATCH "(.*):(.*)" unused ${part})
    if(TARGET ${CMAKE_MATCH_1} AND NOT SHEAF_FLAVOUR STREQUAL "tools")
      list(APPEND features ${CMAKE_MATCH_2})
    endif()
  endforeach()
  list(APPEND features ${SHEAF_CODECS})
  set(SHEAF_FEATURES ${features} PARENT_SCOPE)
  list(JOIN features " " features)
  list(JOIN SHEAF_MPIS " " mpis)
  set_source_files_properties(${SHEAF_SOURCE_DIR}/cli/about/build.cpp TARGET_DIRECTORY ${ARGN} PROPERTIES COMPILE_DEFINITIONS
    "SHEAF_BUILD=\"${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_SYSTEM_PROCESSOR}\";SHEAF_MPIS=\"${mpis}\";SHEAF_FEATURES=\"${features}\"")
endfunction()
