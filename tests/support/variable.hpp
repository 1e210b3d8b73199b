// support/variable: numeric environment variables that make a test longer or shorter (docs/testing.md).
#pragma once

#include <cstdint>
#include <cstdlib>

namespace sheaf::test {

inline uint64_t variable(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace sheaf::test
