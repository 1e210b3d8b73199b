#include "base/warnings.hpp"

#include <exception>
#include <utility>

namespace sheaf {

namespace {
constexpr size_t most_kept = 16;
thread_local std::vector<std::string> waiting;
}  // namespace

void add_warning(std::string text) noexcept {
  if (waiting.size() >= most_kept) return;
  try {
    waiting.push_back(std::move(text));
  } catch (const std::exception&) {
    return;  // without memory there is nobody to tell
  }
}

bool any_warnings() noexcept { return !waiting.empty(); }

std::vector<std::string> take_warnings() { return std::exchange(waiting, {}); }

}  // namespace sheaf
