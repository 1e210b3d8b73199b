// format/fields: what the encoders and decoders of this folder share.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "base/byte_order.hpp"
#include "base/error.hpp"

namespace sheaf::format {

// The integer T (2, 4 or 8 bytes), little-endian whatever the machine: all that is Sheaf's own is stored like
// that.
template <class T>
void put_little(std::byte* to, T value) {
  if constexpr (sizeof(T) == 2) {
    to[0] = static_cast<std::byte>(value & 0xff);
    to[1] = static_cast<std::byte>(value >> 8);
  } else {
    store<T>(to, value, ByteOrder::little);
  }
}

template <class T>
T get_little(const std::byte* from) {
  if constexpr (sizeof(T) == 2)
    return static_cast<T>(static_cast<unsigned>(from[0]) | static_cast<unsigned>(from[1]) << 8);
  else
    return load<T>(from, ByteOrder::little);
}

[[noreturn]] inline void throw_damaged(std::string_view path, const std::string& finding) {
  throw file_error(Code::damaged, path, finding);
}

}  // namespace sheaf::format
