// streams/container/sums/wanted: reads from the environment whether containers have checksums.
#pragma once

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "multifile/options/checking.hpp"
#include "multifile/options/environment.hpp"
#include "multifile/options/open_mode.hpp"

namespace sheaf::streams {

// Returns off if SHEAF_FLAGS has `checksums=off`, as for multifiles. Ignores invalid flags: they are meant
// for multifiles, and must not stop a program with captured files.
inline multifile::Checking checking_of_environment() {
  multifile::Checking found = multifile::Checking::on;
  attempt([&] { found = multifile::parse_open_mode("w", multifile::words_of_environment()).checking(); });
  return found;
}

}  // namespace sheaf::streams
