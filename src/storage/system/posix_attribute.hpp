// storage/system/posix_attribute: reads extended attributes.
#pragma once

#include <sys/xattr.h>

#include <algorithm>
#include <optional>
#include <string>

namespace sheaf {

// Returns the value of an attribute. Returns nothing if the file has no such attribute, or this process may
// not read it.
inline std::optional<std::string> attribute_of(const std::string& file, const char* name) {
  ssize_t length = ::getxattr(file.c_str(), name, nullptr, 0);
  if (length < 0) return std::nullopt;
  std::string value(static_cast<size_t>(length), '\0');
  length = ::getxattr(file.c_str(), name, value.data(), value.size());
  if (length < 0) return std::nullopt;
  value.resize(std::min(value.size(), static_cast<size_t>(length)));
  return value;
}

}  // namespace sheaf
