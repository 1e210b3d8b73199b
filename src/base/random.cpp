#include "base/random.hpp"

#include <random>

namespace sheaf {

uint64_t random_number() {
  thread_local std::random_device source;
  return uint64_t{source()} << 32 | source();
}

}  // namespace sheaf
