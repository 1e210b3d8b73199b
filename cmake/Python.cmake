# Builds the binaries of a Python wheel (pyproject.toml): the core as the single file libsheaf.so.1, and the command
# `sheaf`. Both are built without MPI, OpenMP and Fortran. SHEAF_HEADERS names a directory that holds only the headers
# of CLI11, fmt, nlohmann-json, xxHash and the codecs. scripts/wheel.sh sets it because its compiler has its own C
# library and must not search /usr/include.
if(SHEAF_HEADERS)
  include_directories(SYSTEM ${SHEAF_HEADERS})
endif()
set(SHEAF_MPIS "")
add_compile_options(-ffunction-sections -fdata-sections)  # discard unused code to keep the download small
add_link_options(-Wl,--gc-sections)
find_package(Threads REQUIRED)
include(cmake/Core.cmake)
add_subdirectory(src/cli)
sheaf_describe_build(sheaf_cli_views)
include(cmake/Exports.cmake)
target_link_libraries(sheaf PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(sheaf PROPERTIES VERSION 1 SOVERSION 1)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_link_options(sheaf PRIVATE -static-libstdc++ -static-libgcc)
  target_link_options(sheaf_cli PRIVATE -static-libstdc++ -static-libgcc)
endif()
install(TARGETS sheaf LIBRARY DESTINATION sheaf/lib COMPONENT python NAMELINK_SKIP)
install(TARGETS sheaf_cli RUNTIME DESTINATION sheaf/bin COMPONENT python)
