#include "base/os/random.hpp"

#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"

namespace sheaf {

uint64_t random_number() {
  uint64_t number = 0;
  if (::getentropy(&number, sizeof number) != 0)
    throw os_error("cannot get random numbers from", "the operating system", errno);
  return number;
}

}  // namespace sheaf
