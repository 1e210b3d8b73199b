// api/sion/handles/formatted: what a printf call would print.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <optional>
#include <string>

namespace sheaf::api {

// Nothing, and errno, if the format cannot be printed.
inline std::optional<std::string> formatted(const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  std::string text(1023, '\0');  // most texts are shorter, and printed once
  const int length = std::vsnprintf(text.data(), text.size() + 1, format, arguments);
  const bool fits = length <= static_cast<int>(text.size());
  if (length >= 0) text.resize(static_cast<size_t>(length));
  if (!fits) std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return length < 0 ? std::nullopt : std::optional(std::move(text));
}

}  // namespace sheaf::api
