// api/sion/handles/formatted: formats the text of a printf call.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <optional>
#include <string>

namespace sheaf::api {

// Returns the formatted text, or nothing with errno set if the format is invalid.
inline std::optional<std::string> formatted(const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  char few[1024];  // avoids a second pass for short texts, which are the majority
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
