#include "storage/patience.hpp"

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/error.hpp"

namespace sheaf {

namespace {

bool may_pass(const Error& e, Access access) {
  const int why = e.errno_value();
  // Who may make the file misses its directory, which nobody is about to make.
  return why == ESTALE || (access == Access::create ? why == EEXIST : e.code() == Code::not_found);
}

}  // namespace

std::shared_ptr<File> open_patiently(Store& store, const std::string& path, Access access,
                                     std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (std::chrono::milliseconds pause{0};;
       pause = std::clamp(2 * pause, std::chrono::milliseconds(1), std::chrono::milliseconds(100))) {
    try {
      return store.open(path, access);
    } catch (const Error& e) {
      if (!may_pass(e, access) || std::chrono::steady_clock::now() + pause > until) throw;
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace sheaf
