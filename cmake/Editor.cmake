# compile_commands.json at the top of the checkout: how each C, C++ and Fortran source is compiled, for editors and
# Clang-based tools. The target compile_commands generates this file (scripts/compile_commands.py). Its input is the
# compile_commands.json of the build directory. In unity builds, that file lists generated files, not the sources. With
# several build directories, the one built last determines the file. Builds with sanitizers or for another
# architecture never do.
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

# sheaf_sources_for_editors(NAME DIRECTORY LIBRARY...): adds an object library NAME of the sources in DIRECTORY that
# no target of the calling directory compiles. Tests or other projects compile these sources. NAME is not part of the
# build; it only adds the sources to compile_commands.json, compiled with LIBRARY....
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
