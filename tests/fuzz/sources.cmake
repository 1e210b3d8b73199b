# What the fuzzers and the tests that replay their inputs share.
set(fuzz_dir ${CMAKE_CURRENT_LIST_DIR})
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${fuzz_dir}/*_target.cpp)
list(APPEND fuzz_sources ${fuzz_dir}/packed_files.cpp ${fuzz_dir}/reading.cpp ${fuzz_dir}/memory_bound.cpp)
foreach(name compression dump dump_json info load terminal)
  list(APPEND fuzz_sources ${fuzz_dir}/../../src/cli/${name}.cpp)
endforeach()
