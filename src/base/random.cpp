#include "base/random.hpp"

#include <random>

namespace sheaf {

uint64_t random_number() {
  std::random_device
      source;  // of 5 KB: kept per thread it would not fit where a library that is loaded late has its own
  return uint64_t{source()} << 32 | source();
}

}  // namespace sheaf
