// streams/container/sums/wanted: reads from the environment whether containers have checksums.
#pragma once

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "multifile/options/checking.hpp"
#include "multifile/options/environment.hpp"
#include "multifile/options/open_mode.hpp"

namespace sheaf {

// Returns off if SHEAF_FLAGS has `checksums=off`, as for multifiles. Ignores invalid flags: they are meant
// for multifiles, and must not stop a program with captured files.
inline Checking checking_of_environment() {
  Checking found = Checking::on;
  attempt([&] { found = parse_open_mode("w", words_of_environment()).checking(); });
  return found;
}

}  // namespace sheaf
