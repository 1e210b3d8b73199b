// comm/packing: numbers and bytes in one message between tasks.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/error.hpp"

namespace sheaf {

template <class T>
std::span<const std::byte> value_bytes(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// The parts one behind the other.
inline std::vector<std::byte> joined(std::initializer_list<std::span<const std::byte>> parts) {
  std::vector<std::byte> message;
  for (const auto part : parts) message.insert(message.end(), part.begin(), part.end());
  return message;
}

// Takes a T off the front of a message. Throws damaged if that is too short.
template <class T>
T take(std::span<const std::byte>& message) {
  T value;
  if (message.size() < sizeof value) throw Error(Code::damaged, "a message between tasks is too short");
  std::memcpy(&value, message.data(), sizeof value);
  message = message.subspan(sizeof value);
  return value;
}

}  // namespace sheaf
