// comm/packing: packs numbers and bytes into one message between tasks.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"

namespace sheaf {

template <class T>
std::span<const std::byte> value_bytes(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// Concatenates the parts.
inline std::vector<std::byte> joined(std::initializer_list<std::span<const std::byte>> parts) {
  std::vector<std::byte> message;
  for (const auto part : parts) message.insert(message.end(), part.begin(), part.end());
  return message;
}

// Returns the concatenated records of all tasks.
template <class Record>
std::vector<Record> records_of(const Gathered& collected) {
  std::vector<Record> records(collected.bytes.size() / sizeof(Record));
  if (!records.empty()) std::memcpy(records.data(), collected.bytes.data(), records.size() * sizeof(Record));
  return records;
}

// Removes a T from the front of a message and returns it. Throws damaged if the message is too short.
template <class T>
T take(std::span<const std::byte>& message) {
  T value;
  if (message.size() < sizeof value) throw Error(Code::damaged, "a message between tasks is too short");
  std::memcpy(&value, message.data(), sizeof value);
  message = message.subspan(sizeof value);
  return value;
}

}  // namespace sheaf
