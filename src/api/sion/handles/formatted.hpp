// api/sion/handles/formatted: what a printf call would print.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <optional>
#include <string>

namespace sheaf::api {

// Nothing, and errno, if the format cannot be printed.
inline std::optional<std::string> formatted(const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  char few[1024];  // most texts are shorter, and printed once
  const int length = std::vsnprintf(few, sizeof few, format, arguments);
  std::optional<std::string> text;
  if (length >= 0) {
    text.emplace(few, std::min(static_cast<size_t>(length), sizeof few - 1));
    text->resize(static_cast<size_t>(length));
    if (text->size() >= sizeof few) std::vsnprintf(text->data(), text->size() + 1, format, again);
  }
  va_end(again);
  return text;
}

}  // namespace sheaf::api
