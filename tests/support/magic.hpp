// magic: the first bytes of META1 in compressed files. Older files began like plain ones; today encoded files
// have a magic of their own.
#pragma once

#include <string>

#include "format/extension.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test {

inline bool is_encoded(const MemoryStore& store, const std::string& path) {
  return format::says_encoded(store.contents(path));
}

// Gives a compressed physical file the magic of older files.
inline void give_plain_magic(MemoryStore& store, const std::string& path) {
  auto bytes = store.contents(path);
  const auto head = std::span(bytes).first<static_cast<size_t>(format::fixed_size)>();
  const auto extension = format::decode_extension(head, path);
  std::ranges::copy(std::as_bytes(std::span(format::plain_magic)), head.begin());
  format::put_extension(*extension, head);
  store.set_contents(path, bytes);
}

}  // namespace sheaf::test
