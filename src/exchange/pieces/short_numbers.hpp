// exchange/pieces/short_numbers: encodes numbers in messages in a variable length, seven bits per byte, the
// lowest bits first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.hpp"

namespace sheaf::exchange {

inline void append_number(std::vector<std::byte>& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::byte>(value | 0x80));
  to.push_back(static_cast<std::byte>(value));
}

// Throws damaged for a message that append_number() cannot have produced.
[[noreturn]] inline void throw_senseless() {
  throw Error(Code::damaged, "a list of pieces between tasks makes no sense");
}

// Removes a number from the front of `code` and returns it. Throws damaged if `code` does not begin with one.
inline uint64_t take_number(std::span<const std::byte>& code) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (code.empty()) throw_senseless();
    const auto byte = static_cast<uint64_t>(code.front());
    code = code.subspan(1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw_senseless();
}

}  // namespace sheaf::exchange
