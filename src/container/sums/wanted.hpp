// container/sums/wanted: whether the environment asks for checksums in containers.
#pragma once

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "mode/checking.hpp"
#include "mode/environment.hpp"
#include "mode/open_mode.hpp"

namespace sheaf {

// Off: SHEAF_FLAGS has `checksums=off`, as for multifiles. Flags that no multifile could be opened with are
// ignored: programs whose files are captured did not ask for them.
inline Checking checking_of_environment() {
  Checking found = Checking::on;
  attempt([&] { found = parse_open_mode("w", words_of_environment()).checking(); });
  return found;
}

}  // namespace sheaf
