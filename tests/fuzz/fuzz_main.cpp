// Defines one target in the form that libFuzzer expects. The macro SHEAF_FUZZ_TARGET is the target's
// function. SHEAF_FUZZ_PACKED is defined if its inputs are packed files.
#include <cstdio>
#include <cstdlib>

#include "fuzz/mutate.hpp"
#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    sheaf::fuzz::SHEAF_FUZZ_TARGET(std::as_bytes(std::span(data, size)));
  } catch (const sheaf::fuzz::Contradiction& c) {
    std::fprintf(stderr, "contradiction: %s\n", c.what.c_str());
    std::abort();
  }
  return 0;
}

#ifdef SHEAF_FUZZ_PACKED
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  return sheaf::fuzz::mutate_packed(std::as_writable_bytes(std::span(data, max_size)), size, seed);
}
#endif
