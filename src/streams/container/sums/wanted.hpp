// streams/container/sums/wanted: whether the environment requests checksums in containers.
#pragma once

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "multifile/options/checking.hpp"
#include "multifile/options/environment.hpp"
#include "multifile/options/open_mode.hpp"

namespace sheaf {

// Returns off if SHEAF_FLAGS has `checksums=off`, as for multifiles. Invalid flags are ignored, because a
// program with captured files did not set them for this purpose.
inline Checking checking_of_environment() {
  Checking found = Checking::on;
  attempt([&] { found = parse_open_mode("w", words_of_environment()).checking(); });
  return found;
}

}  // namespace sheaf
