# SHEAF_UNITY: compiles several files of a folder at once, because parsing the same headers for each file is more
# than half of a build from scratch. OFF recompiles less after a change of a few files, and detects files that do not
# include what they use.
option(SHEAF_UNITY "Compile several files of a folder at once" ON)
# SHEAF_PRECOMPILED: parses the C++ headers once for all files of a library. OFF detects files that do not include
# what they use.
option(SHEAF_PRECOMPILED "Precompile the headers of C++" ${SHEAF_UNITY})
if(NOT SHEAF_UNITY)
  set(CMAKE_LINK_DEPENDS_NO_SHARED ON)  # programs are not relinked after a change of a shared library
endif()

# sheaf_part(NAME FILE...): compiles these files together, separately from the rest of their folders. FILE: regular
# expressions for paths under src/ without .cpp.
function(sheaf_part name)
  list(JOIN ARGN "|" files)
  set_property(GLOBAL APPEND PROPERTY SHEAF_PARTS "${name}:/src/(${files})\\.cpp$")
endfunction()

# Sets the variable `name` to the group in which `source` is compiled: its part (sheaf_part) or else its folder.
function(sheaf_group_of source name)
  get_property(parts GLOBAL PROPERTY SHEAF_PARTS)
  foreach(part ${parts})
    string(REGEX MATCH "^([a-z]+):(.*)$" match "${part}")
    set(group ${CMAKE_MATCH_1})
    if(source MATCHES "${CMAKE_MATCH_2}")
      set(${name} ${group} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  get_filename_component(folder ${source} DIRECTORY)
  get_filename_component(group ${folder} NAME)
  set(${name} ${group} PARENT_SCOPE)
endfunction()

# SHEAF_ABI_TYPES: compiles the files of the C interface with debug information, from which test_abi reads the types
# of its functions. Installed libraries and archives do not contain it.
set(default OFF)
if(SHEAF_TESTS OR SHEAF_DEVELOPER)  # `make demo` and `make test` use the same objects
  set(default ON)
endif()
option(SHEAF_ABI_TYPES "Debug information for the C interface, for test_abi" ${default})
# sheaf_abi_types(SOURCE FILE): adds debug information to SOURCE if it belongs to the C interface. FILE is the unity
# file that contains SOURCE; a source with its own options is compiled separately.
function(sheaf_abi_types source file)
  string(REGEX REPLACE "^src/" "${PROJECT_SOURCE_DIR}/src/" source ${source})
  if(CMAKE_BUILD_TYPE STREQUAL "Debug" OR NOT SHEAF_ABI_TYPES OR NOT source MATCHES "/src/(api/sion|api/fortran|sfio/api)/")
    return()
  endif()
  get_source_file_property(options ${source} COMPILE_OPTIONS)
  if(options)
    set(file ${source})
  else()
    get_source_file_property(options ${file} COMPILE_OPTIONS)
  endif()
  if(NOT "-g" IN_LIST options)
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS -g)
    set_property(SOURCE ${file} PROPERTY SKIP_PRECOMPILE_HEADERS ON)  # compiled without the precompiled header
  endif()
endfunction()

# Compiles the C++ files of each folder of `target` in groups of equal size, of at most `most` files. With the default
# of 14 files, a group takes 5 to 10 s, and there are enough groups to use two cores.
function(sheaf_unity target)
  if(NOT SHEAF_UNITY)
    get_target_property(sources ${target} SOURCES)
    foreach(source ${sources})
      sheaf_abi_types(${source} ${source})
    endforeach()
    return()
  endif()
  set(most 14)
  if(ARGC GREATER 1)
    set(most ${ARGV1})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(SORT sources)
  set(folders "")
  foreach(source ${sources})
    sheaf_group_of(${source} folder)
    list(APPEND folders "${folder}")
    list(APPEND of_${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    list(LENGTH of_${folder} files)
    math(EXPR parts "(${files} + ${most} - 1) / ${most}")
    set(number 0)
    foreach(source ${of_${folder}})
      math(EXPR part "${number} * ${parts} / ${files}")
      math(EXPR number "${number} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${part})
      sheaf_abi_types(${source} ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/Unity/unity_${folder}_${part}_cxx.cxx)
    endforeach()
  endforeach()
endfunction()

# sheaf_precompiled(TARGET HEADER...): if SHEAF_PRECOMPILED is set, the C++ files of `target` share a precompiled form
# of the C++ standard headers and of HEADER..., which saves 0.6 s per file. Files with their own options are
# excluded. sheaf_precompiled(TARGET LIKE OTHER): shares the precompiled headers of OTHER, which must have the same
# options.
function(sheaf_precompiled target)
  if(NOT SHEAF_PRECOMPILED OR SHEAF_PYTHON)  # wheels may be built with zig
    return()
  endif()
  if(ARGC EQUAL 3 AND ARGV1 STREQUAL "LIKE")
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
  else()
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <chrono> <cstring> <functional> <map> <memory> <mutex>
      <numeric> <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <vector> ${ARGN})
  endif()
  # Lets ccache reuse objects compiled with precompiled headers, with sloppiness = pch_defines,time_macros.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endfunction()

# Compiles `target` for size instead of speed.
function(sheaf_for_size target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Os>)
endfunction()

# The scripts in packaging/ use the binutils of the target.
set(SHEAF_BINUTILS "")
if(CMAKE_CROSSCOMPILING)
  set(SHEAF_BINUTILS ${CMAKE_COMMAND} -E env AR=${CMAKE_AR} LD=${CMAKE_LINKER} NM=${CMAKE_NM} OBJCOPY=${CMAKE_OBJCOPY}
    READELF=${CMAKE_READELF})
endif()

# sheaf_objects_of(VARIABLE TARGET): sets VARIABLE to the object files of an object library, without its precompiled
# headers.
function(sheaf_objects_of variable target)
  set(${variable} "$<FILTER:$<TARGET_OBJECTS:${target}>,EXCLUDE,\\.gch$>" PARENT_SCOPE)
endfunction()

# sheaf_install_archive(NAME DIRECTORY LIBRARY...): joins the objects of the object libraries into the static library
# NAME (packaging/archive.sh) and installs it in DIRECTORY.
function(sheaf_install_archive name directory)
  set(objects "")
  foreach(library ${ARGN})
    sheaf_objects_of(of_library ${library})
    list(APPEND objects ${of_library})
    # Avoids process-wide unique symbols, which joined objects would define several times.
    target_compile_options(${library} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  endforeach()
  if(SHEAF_FLAVOUR STREQUAL "tools")
    return()
  endif()
  set(script ${PROJECT_SOURCE_DIR}/packaging/archive.sh)
  set(archive ${CMAKE_BINARY_DIR}/archive/${directory}/${name})
  add_custom_command(OUTPUT ${archive}
    COMMAND ${SHEAF_BINUTILS} ${script} ${archive} ${archive}.parts "calls|teams|listeners names tools|usage" "$<$<CONFIG:Release>:--discard-all --strip-debug>" ${objects}
    DEPENDS ${script} ${PROJECT_SOURCE_DIR}/packaging/archive.ld ${objects} COMMAND_EXPAND_LISTS VERBATIM)
  string(MAKE_C_IDENTIFIER "archive_${directory}_${name}" target)
  add_custom_target(${target} ALL DEPENDS ${archive})
  add_dependencies(${target} ${ARGN})  # Makefiles have no rules for objects of other targets
  install(FILES ${archive} DESTINATION ${directory})
endfunction()
