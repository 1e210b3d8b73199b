# Shared by the fuzzers and the tests that replay their inputs: the targets and their support code.
set(fuzz_dir ${CMAKE_CURRENT_LIST_DIR})
file(GLOB fuzz_targets_sources CONFIGURE_DEPENDS ${fuzz_dir}/*_target.cpp)
set(fuzz_helpers ${fuzz_dir}/packed_files.cpp ${fuzz_dir}/reading.cpp ${fuzz_dir}/made_metadata.cpp)
