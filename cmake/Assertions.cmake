# SHEAF_DEBUG_ASSERTIONS: also checks the assertions that are costly or on hot paths (SHEAF_DEBUG_ASSERT of
# src/base/assert.hpp). On for tests, developers, debug builds and sanitizers. Builds that are installed or measured have
# it off; the Makefile sets it for `make install`, `make bench` and `make figures`.
set(default OFF)
if(SHEAF_TESTS OR SHEAF_DEVELOPER OR SHEAF_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(default ON)
endif()
option(SHEAF_DEBUG_ASSERTIONS "Check costly assertions as well" ${default})
if(SHEAF_DEBUG_ASSERTIONS)
  add_compile_definitions(SHEAF_DEBUG_ASSERTIONS)
endif()
# Assertions print paths relative to the source directory; libraries contain no other paths of the build machine. ccache
# may make the paths of headers relative to the build directory.
file(RELATIVE_PATH up ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>"
  "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${up}>>:-fmacro-prefix-map=${up}=>")
