#include "base/warnings.hpp"

#include <exception>
#include <utility>

#include "base/thread_value.hpp"

namespace sheaf {

namespace {
constexpr size_t max_kept = 16;
constinit ThreadValue<std::vector<std::string>> waiting;
}  // namespace

void add_warning(std::string text) noexcept {
  std::vector<std::string>* const of_thread = waiting.get();
  if (!of_thread || of_thread->size() >= max_kept) return;
  try {
    of_thread->push_back(std::move(text));
  } catch (const std::exception&) {
    return;  // memory is exhausted
  }
}

bool any_warnings() noexcept {
  const std::vector<std::string>* const of_thread = waiting.find();
  return of_thread && !of_thread->empty();
}

std::vector<std::string> take_warnings() {
  std::vector<std::string>* const of_thread = waiting.find();
  return of_thread ? std::exchange(*of_thread, {}) : std::vector<std::string>();
}

}  // namespace sheaf
