// base/last_message: the message of the last error of each thread, available even when memory is exhausted.
#pragma once

#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/thread_value.hpp"

namespace sheaf {

class LastMessage {
 public:
  // Stores "CALL: WHAT", with "out of memory" for bad_alloc. Truncates the message to 199 bytes if it cannot
  // be allocated.
  void set(std::string_view call, const std::exception& error) noexcept {
    MessageText* const message = of_thread_.get();
    if (!message) return;
    const bool exhausted = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    const char* const what = exhausted ? "out of memory" : error.what();
    try {
      // The text of an Error is printable already.
      const bool is_own = dynamic_cast<const Error*>(&error) != nullptr;
      message->text.assign(call).append(": ").append(is_own ? what : printable(what).c_str());
    } catch (const std::exception&) {
      message->text.clear();
      std::snprintf(message->fixed.data(), message->fixed.size(), "%.*s: %s", static_cast<int>(call.size()),
                    call.data(), what);
    }
  }
  // Stores a complete message.
  void set(const std::string& text) noexcept {
    MessageText* const message = of_thread_.get();
    if (!message) return;
    try {
      message->text = text;
    } catch (const std::exception&) {
      message->text.clear();
      std::snprintf(message->fixed.data(), message->fixed.size(), "%s", text.c_str());
    }
  }
  // Returns the message of this thread, or "" if it has none. `failed` tells whether a call has failed in
  // this thread: if so, and no memory could be allocated for any message, returns "out of memory".
  const char* text(bool failed) const noexcept {
    const MessageText* const message = of_thread_.find();
    if (!message) return failed ? "out of memory" : "";
    return message->text.empty() ? message->fixed.data() : message->text.c_str();
  }

 private:
  struct MessageText {
    std::string text;
    std::array<char, 200> fixed{};  // used if text is empty
  };
  ThreadValue<MessageText> of_thread_;
};

}  // namespace sheaf
