# The core: all of Sheaf that needs no MPI. One folder under src/ is one room (docs/architecture.md).
file(GLOB core_sources CONFIGURE_DEPENDS src/base/*.cpp src/format/*.cpp src/codec/*.cpp src/layout/*.cpp src/storage/*.cpp
     src/exchange/*.cpp src/multifile/*.cpp src/stripedfile/*.cpp src/comm/*.cpp src/api/sion/*.cpp)
list(FILTER core_sources EXCLUDE REGEX "/mpi_|/fiber|_mpi\\.cpp$|/omp\\.cpp$|/(faulty_store|fault_ledger|memory_store|memory_inode|recording_)")

# Parts that a program which is linked statically has only if it uses them (packaging/archive.sh).
sheaf_part(calls multifile/keyval_.* api/sion/dup api/sion/generic.* api/sion/info api/sion/io_info api/sion/keyval
           api/sion/mapped api/sion/printing api/sion/streams api/sion/collective)
sheaf_part(teams comm/callback_comm comm/funneled_comm comm/hybrid_comm comm/star_.* comm/thread_comm comm/shared_meeting)
sheaf_part(listeners stripedfile/collective stripedfile/flow stripedfile/listener stripedfile/message_link stripedfile/session)
sheaf_part(tools multifile/compress_streams multifile/defrag multifile/hole_table multifile/leftovers multifile/repair
           multifile/split.* multifile/usage multifile/verify.* stripedfile/check storage/directory storage/probes api/sion/tools api/sion/abandon)

# The shared-file object of MPI-IO, with the engine that it alone uses, for cmake/MpiIo.cmake.
file(GLOB sharedfile_sources CONFIGURE_DEPENDS src/sharedfile/*.cpp)
set(engine_sources ${core_sources})
list(FILTER engine_sources INCLUDE REGEX "/exchange/(collective|host_exchange|hosts\\.|run_code|stage)")
list(REMOVE_ITEM core_sources ${engine_sources})
add_library(sheaf_sharedfile STATIC ${sharedfile_sources} ${engine_sources})
target_link_libraries(sheaf_sharedfile PUBLIC sheaf_static PRIVATE sheaf_warnings)
sheaf_unity(sheaf_sharedfile)

# What moves bytes is compiled for speed; the rest, and what plans in the same rooms, for size.
set(swift_sources ${core_sources})
list(FILTER swift_sources INCLUDE REGEX
     "/src/(exchange|layout)/|/base/(crc|hash|byte)|/codec/(shuffle|frame_queue)|/multifile/(write|read)_stream|/api/sion/(transfer|handle)\\.cpp$")
list(FILTER swift_sources EXCLUDE REGEX
     "/exchange/(topology|throttle|hosts_file|write_covered|two_phase|node_mail|piece_code|access_list|shared_range|coverage|access)|/layout/(regions|edge_map|collective|aggregators|stripes|type_map|type_node)\\.cpp$")
list(REMOVE_ITEM core_sources ${swift_sources})
add_library(sheaf_swift_objects OBJECT ${swift_sources})
add_library(sheaf_objects OBJECT ${core_sources})
sheaf_for_size(sheaf_objects)
foreach(target sheaf_swift_objects sheaf_objects)
  target_include_directories(${target} PUBLIC src include)
  target_link_libraries(${target} PRIVATE sheaf_warnings)
  sheaf_unity(${target})
endforeach()

set(core_objects $<TARGET_OBJECTS:sheaf_swift_objects> $<TARGET_OBJECTS:sheaf_objects>)
add_library(sheaf SHARED ${core_objects})
add_library(sheaf_static STATIC ${core_objects})
foreach(target sheaf sheaf_static)
  target_include_directories(${target} PUBLIC src include)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME sheaf VERSION ${PROJECT_VERSION} SOVERSION 1)
endforeach()

if(SHEAF_PYTHON)
  return()
endif()

# OpenMP programs have one runtime, theirs: the core stays free of it.
add_library(sheaf_omp_objects OBJECT src/api/sion/omp.cpp)
target_include_directories(sheaf_omp_objects PUBLIC src include)
target_link_libraries(sheaf_omp_objects PRIVATE sheaf_warnings OpenMP::OpenMP_CXX)
sheaf_for_size(sheaf_omp_objects)
sheaf_abi_types(src/api/sion/omp.cpp ${PROJECT_SOURCE_DIR}/src/api/sion/omp.cpp)
add_library(sheaf_omp SHARED $<TARGET_OBJECTS:sheaf_omp_objects>)
add_library(sheaf_omp_static STATIC $<TARGET_OBJECTS:sheaf_omp_objects>)
target_link_libraries(sheaf_omp PUBLIC sheaf PRIVATE OpenMP::OpenMP_CXX)
set_target_properties(sheaf_omp sheaf_omp_static PROPERTIES OUTPUT_NAME sheaf_omp)
set_target_properties(sheaf_omp PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 1)

sheaf_install_archive(libsheaf.a ${SHEAF_LIB} sheaf_swift_objects sheaf_objects)
sheaf_install_archive(libsheaf_omp.a ${SHEAF_LIB} sheaf_omp_objects)
