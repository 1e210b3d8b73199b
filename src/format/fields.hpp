// format/fields: helpers shared by the encoders and decoders of this module.
//
// A struct lists its stored members once, for both directions:
//   template <class S> auto fields_of(S& s) { return std::tie(s.identity, s.count); }
#pragma once

#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "base/byte_order.hpp"
#include "base/error.hpp"

namespace sheaf::format {

// Stores an integer of 2, 4 or 8 bytes in little endian, the byte order of all of Sheaf's own formats.
template <class T>
void put_little(std::byte* to, T value) {
  store<T>(to, value, ByteOrder::little);
}

template <class T>
T get_little(const std::byte* from) {
  return load<T>(from, ByteOrder::little);
}

template <class T>
inline constexpr bool is_ordered = sizeof(T) > 1 && (std::is_integral_v<T> || std::is_enum_v<T>);

// Stores the fields consecutively, without gaps. Integers and enums of several bytes get the given byte
// order. Other fields must be single bytes or arrays of bytes, which are copied unchanged.
template <class... T>
void put_fields(std::byte* to, const std::tuple<T&...>& fields, ByteOrder order = ByteOrder::little) {
  const auto put = [&]<class Field>(const Field& field) {
    if constexpr (is_ordered<Field>)
      store<Field>(to, field, order);
    else
      std::memcpy(to, &field, sizeof field);
    to += sizeof field;
  };
  std::apply([&](const auto&... field) { (put(field), ...); }, fields);
}

// Loads fields that put_fields() has stored.
template <class... T>
void get_fields(const std::byte* from, const std::tuple<T&...>& fields, ByteOrder order = ByteOrder::little) {
  const auto get = [&]<class Field>(Field& field) {
    if constexpr (is_ordered<Field>)
      field = load<Field>(from, order);
    else
      std::memcpy(&field, from, sizeof field);
    from += sizeof field;
  };
  std::apply([&](auto&... field) { (get(field), ...); }, fields);
}

// Returns true if the bytes begin with `magic`, an array of characters or bytes.
template <class Magic>
bool begins_with(std::span<const std::byte> bytes, const Magic& magic) {
  return bytes.size() >= std::size(magic) &&
         std::memcmp(bytes.data(), std::data(magic), std::size(magic)) == 0;
}

[[noreturn]] inline void throw_damaged(std::string_view path, const std::string& finding) {
  throw file_error(Code::damaged, path, finding);
}

}  // namespace sheaf::format
