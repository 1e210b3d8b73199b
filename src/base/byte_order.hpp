// base/byte_order: converts integers to and from bytes in either byte order. The bytes need no alignment.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace sheaf {

enum class ByteOrder : uint8_t { little = 0, big = 1 };

inline constexpr ByteOrder native_order =
    std::endian::native == std::endian::big ? ByteOrder::big : ByteOrder::little;

inline const char* name_of(ByteOrder order) { return order == ByteOrder::big ? "big" : "little"; }

inline uint16_t byte_swap(uint16_t v) { return __builtin_bswap16(v); }
inline uint32_t byte_swap(uint32_t v) { return __builtin_bswap32(v); }
inline uint64_t byte_swap(uint64_t v) { return __builtin_bswap64(v); }

// Reads the integer T (4 or 8 bytes) stored at `from` in `order`.
template <class T>
T load(const std::byte* from, ByteOrder order) {
  std::make_unsigned_t<T> v;
  std::memcpy(&v, from, sizeof v);
  return static_cast<T>(order == native_order ? v : byte_swap(v));
}

// Stores the integer `value` at `to` in `order`.
template <class T>
void store(std::byte* to, T value, ByteOrder order) {
  auto v = static_cast<std::make_unsigned_t<T>>(value);
  if (order != native_order) v = byte_swap(v);
  std::memcpy(to, &v, sizeof v);
}

}  // namespace sheaf
