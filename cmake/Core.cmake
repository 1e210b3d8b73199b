# The core: all of Sheaf that needs no MPI. cmake/Modules.cmake lists its folders.
sheaf_sources(core_sources ${SHEAF_CORE_FOLDERS} ${SHEAF_STREAMS_FOLDERS} ${SHEAF_SION_FOLDERS})
if(NOT SHEAF_STREAMS)
  list(FILTER core_sources EXCLUDE REGEX "/api/sion/sets\\.cpp$")
endif()
list(FILTER core_sources EXCLUDE REGEX "_mpi\\.cpp$|/omp\\.cpp$")  # compiled into the libraries of the families of the C interface

# Parts that a statically linked program includes only if it uses them (packaging/archive.sh).
sheaf_part(calls multifile/keyval/.* api/sion/dup api/sion/families/generic.* api/sion/info api/sion/io_info api/sion/keyval
           api/sion/mapped api/sion/printing api/sion/streams api/sion/collective)
sheaf_part(teams comm/threads/.* comm/shm_barrier)
sheaf_part(listeners sfio/session/.*)
sheaf_part(names streams/container/.* streams/capture/.* base/os/host_memory api/sion/sets)
sheaf_part(usage multifile/tools/usage multifile/tools/defaults)
sheaf_part(tools multifile/tools/.* streams/verify/verify_set multifile/recover/.* sfio/check storage/probes api/sion/tools api/sion/abandon)

# The shared-file object of MPI-IO with its own engine, for cmake/MpiIo.cmake.
sheaf_sources(sharedfile_sources ${SHEAF_SHAREDFILE_FOLDERS})
add_library(sheaf_sharedfile STATIC ${sharedfile_sources})
target_link_libraries(sheaf_sharedfile PUBLIC sheaf_static PRIVATE sheaf_warnings)
sheaf_unity(sheaf_sharedfile)

# Code that moves bytes is compiled for speed, the rest for size.
set(hot_path_sources ${core_sources})
list(FILTER hot_path_sources INCLUDE REGEX "/base/(crc|hash|byte)|/format/codec/(shuffle|frame_queue)|/layout/(chunk_layout|type_map_visit)\\.cpp$|/exchange/(pieces|transfer)/|/multifile/keyval|/multifile/stream/(write_stream|chunk_writer|read_stream|block_reader)|/api/sion/(transfer|handles/handle)\\.cpp$")
list(REMOVE_ITEM core_sources ${hot_path_sources})
add_library(sheaf_hot_path_objects OBJECT ${hot_path_sources})
# The tools are separate, because the demo does not include them.
set(tool_sources "")
foreach(source ${core_sources})
  sheaf_group_of(${source} part)
  if(part STREQUAL "tools")
    list(APPEND tool_sources ${source})
  endif()
endforeach()
list(REMOVE_ITEM core_sources ${tool_sources})
add_library(sheaf_objects OBJECT ${core_sources})
add_library(sheaf_tool_objects OBJECT ${tool_sources})
sheaf_for_size(sheaf_objects)
sheaf_for_size(sheaf_tool_objects)
set(core_targets sheaf_hot_path_objects sheaf_objects sheaf_tool_objects)
foreach(target ${core_targets})
  target_include_directories(${target} PUBLIC src include)
  target_link_libraries(${target} PRIVATE sheaf_warnings)
  sheaf_unity(${target})
endforeach()
sheaf_precompiled(sheaf_objects)
sheaf_precompiled(sheaf_tool_objects LIKE sheaf_objects)

list(TRANSFORM core_targets REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE core_objects)
add_library(sheaf SHARED ${core_objects})
add_library(sheaf_static STATIC ${core_objects})
foreach(target sheaf sheaf_static)
  target_include_directories(${target} PUBLIC src include)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME sheaf VERSION ${PROJECT_VERSION} SOVERSION 1)
endforeach()

if(SHEAF_PYTHON)
  return()
endif()

# The core without the tools, for the demo.
add_library(sheaf_plain_static STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:sheaf_hot_path_objects> $<TARGET_OBJECTS:sheaf_objects>)
target_include_directories(sheaf_plain_static PUBLIC src include)

# An OpenMP program must contain only its own OpenMP runtime, so the core does not use OpenMP.
add_library(sheaf_omp_objects OBJECT src/api/sion/families/omp.cpp)
target_include_directories(sheaf_omp_objects PUBLIC src include)
target_link_libraries(sheaf_omp_objects PRIVATE sheaf_warnings OpenMP::OpenMP_CXX)
sheaf_for_size(sheaf_omp_objects)
sheaf_abi_types(src/api/sion/families/omp.cpp ${PROJECT_SOURCE_DIR}/src/api/sion/families/omp.cpp)
add_library(sheaf_omp SHARED $<TARGET_OBJECTS:sheaf_omp_objects>)
add_library(sheaf_omp_static STATIC $<TARGET_OBJECTS:sheaf_omp_objects>)
target_link_libraries(sheaf_omp PUBLIC sheaf PRIVATE OpenMP::OpenMP_CXX)
set_target_properties(sheaf_omp sheaf_omp_static PROPERTIES OUTPUT_NAME sheaf_omp)
set_target_properties(sheaf_omp PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 1)

sheaf_install_archive(libsheaf.a ${SHEAF_LIB} ${core_targets})
sheaf_install_archive(libsheaf_omp.a ${SHEAF_LIB} sheaf_omp_objects)
