# compile_commands.json at the top of the checkout: how each C, C++ and Fortran source is compiled, for editors and
# Clang-based tools. The target compile_commands derives it from that of the build directory, which lists the
# generated files of unity builds instead of the sources (scripts/compile_commands.py). With several build
# directories, the one built last determines the file; builds with sanitizers or for another architecture never do.
find_package(Python3 COMPONENTS Interpreter)
if(SHEAF_DEVELOPER AND SHEAF_TESTS AND Python3_FOUND AND NOT SHEAF_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  set(script ${PROJECT_SOURCE_DIR}/scripts/compile_commands.py)
  set(commands ${PROJECT_SOURCE_DIR}/compile_commands.json)
  set(stamp ${CMAKE_BINARY_DIR}/compile_commands.stamp)
  add_custom_command(OUTPUT ${stamp} COMMAND ${Python3_EXECUTABLE} -B ${script} ${CMAKE_BINARY_DIR} ${commands}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${script} ${CMAKE_BINARY_DIR}/compile_commands.json VERBATIM)
  add_custom_target(compile_commands ALL DEPENDS ${stamp})
endif()

# sheaf_sources_for_editors(NAME DIRECTORY LIBRARY...): sources of DIRECTORY that are in no target of the calling
# directory, because tests or other projects compile them. Ninja does not build them; compile_commands.json describes
# their compilation with LIBRARY....
function(sheaf_sources_for_editors name directory)
  set(patterns *.c *.cpp)
  if(SHEAF_FORTRAN)
    list(APPEND patterns *.f90 *.F90 *.f *.F)
  endif()
  list(TRANSFORM patterns PREPEND ${directory}/)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(compiled ${target} SOURCES)
    if(compiled)
      list(TRANSFORM compiled REPLACE "^([^/$])" "${CMAKE_CURRENT_SOURCE_DIR}/\\1")
      list(REMOVE_ITEM sources ${compiled})
    endif()
  endforeach()
  if(sources)
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${sources})
    target_link_libraries(${name} PRIVATE ${ARGN})
  endif()
endfunction()
