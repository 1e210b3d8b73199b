// base/last_message: the message of the last error of a thread, which exists also if there is no memory for
// it.
#pragma once

#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/printable.hpp"

namespace sheaf {

class LastMessage {
 public:
  // Remembers "CALL: WHAT", "out of memory" for bad_alloc; cut off after 200 bytes if it cannot be allocated.
  void set(std::string_view call, const std::exception& error) noexcept {
    const bool exhausted = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    const char* const what = exhausted ? "out of memory" : error.what();
    try {
      // What an Error says is printable already.
      const bool is_own = dynamic_cast<const Error*>(&error) != nullptr;
      text_.assign(call).append(": ").append(is_own ? what : printable(what).c_str());
    } catch (const std::exception&) {
      text_.clear();
      std::snprintf(fixed_.data(), fixed_.size(), "%.*s: %s", static_cast<int>(call.size()), call.data(),
                    what);
    }
  }
  // Remembers a message that was made before.
  void set(const std::string& message) noexcept {
    try {
      text_ = message;
    } catch (const std::exception&) {
      text_.clear();
      std::snprintf(fixed_.data(), fixed_.size(), "%s", message.c_str());
    }
  }
  const char* text() const noexcept { return text_.empty() ? fixed_.data() : text_.c_str(); }

 private:
  std::string text_;
  std::array<char, 200> fixed_{};  // used if text_ is empty
};

}  // namespace sheaf
