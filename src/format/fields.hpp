// format/fields: helpers shared by the encoders and decoders of this module.
//
// A struct lists its stored members once, for both directions:
//   template <class S> auto fields_of(S& s) { return std::tie(s.identity, s.count); }
#pragma once

#include <array>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "format/extension.hpp"

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

// Encodes a record of `size` bytes: `magic`, the fields, zeros, and at `hash_at` the hash of all bytes
// before.
template <int64_t size, class Magic, class... T>
std::array<std::byte, size> encode_sealed(const Magic& magic, const std::tuple<T&...>& fields,
                                          size_t hash_at) {
  std::array<std::byte, size> bytes{};
  std::memcpy(bytes.data(), std::data(magic), std::size(magic));
  put_fields(bytes.data() + std::size(magic), fields);
  put_little<uint64_t>(bytes.data() + hash_at, hash_of(std::span(bytes).first(hash_at)));
  return bytes;
}

// Loads the fields of such a record. Returns false without loading if magic or hash are wrong, or if the
// bytes end before the hash.
template <class Magic, class... T>
bool decode_sealed(std::span<const std::byte> bytes, const Magic& magic, const std::tuple<T&...>& fields,
                   size_t hash_at) {
  if (bytes.size() < hash_at + 8 || !begins_with(bytes, magic) ||
      get_little<uint64_t>(bytes.data() + hash_at) != hash_of(bytes.first(hash_at)))
    return false;
  get_fields(bytes.data() + std::size(magic), fields);
  return true;
}

[[noreturn]] inline void throw_damaged(std::string_view path, const std::string& finding) {
  throw file_error(Code::damaged, path, finding);
}

}  // namespace sheaf::format
