# SHEAF_DEBUG_ASSERTIONS: also checks the assertions that are costly or on hot paths (SHEAF_DEBUG_ASSERT of
# src/base/assert.hpp). On for tests, debug builds and sanitizers. The Makefile switches it off for what is
# installed or measured: one file is compiled again, and the programs are linked again.
set(default OFF)
if(SHEAF_TESTS OR SHEAF_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(default ON)
endif()
option(SHEAF_DEBUG_ASSERTIONS "Check costly assertions as well" ${default})
if(SHEAF_DEBUG_ASSERTIONS)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/base/os/assertion_failed.cpp PROPERTIES
    COMPILE_DEFINITIONS SHEAF_DEBUG_ASSERTIONS)
endif()
# Assertions print paths relative to the source directory, so libraries contain no paths of the build machine. ccache
# may make the paths of headers relative to the build directory.
file(RELATIVE_PATH up ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
string(REGEX REPLACE "([^/])$" "\\1/" up "${up}")
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>"
  "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${up}>>:-fmacro-prefix-map=${up}=>")
