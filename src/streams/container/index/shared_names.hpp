// streams/container/index/shared_names: a hash table from names and keys to streams, in the memory that the
// processes of a host share. The caller of all functions holds the lock of names.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "format/container.hpp"
#include "streams/container/index/shared_allocator.hpp"

namespace sheaf::streams {

// An entry of the table: the name of a stream, or the key of a stream that another container has created.
struct SharedEntry {
  std::atomic<SharedPlace> next;  // next in its bucket
  uint64_t hash;
  SharedPlace stream;
  uint32_t bytes;
  char text[4];  // `bytes` characters
};

// Encodes a key as a name that no stream can have, so that the table can hold it.
class KeyText {
 public:
  explicit KeyText(const format::StreamKey& key);
  std::string_view view() const { return {text_, sizeof text_}; }

 private:
  char text_[17];
};

class SharedNames {
 public:
  // In shared memory. Zeros are its initial state.
  struct NamesState {
    struct Level {
      std::atomic<SharedPlace> buckets;
      uint64_t mask;
      int64_t entries;
    } levels[48];
    std::atomic<uint32_t> level_count;
  };

  // `state`: place of the NamesState.
  SharedNames(const SharedAllocator& allocator, SharedPlace state) : allocator_(allocator), state_(state) {}
  void begin() { add_level(); }

  SharedEntry& entry(SharedPlace at) { return allocator_.memory().as<SharedEntry>(at); }
  std::string_view text(SharedPlace at) { return {entry(at).text, entry(at).bytes}; }

  // Returns the stream of an entry in the table; 0 if not found.
  SharedPlace find(std::string_view name);
  // Allocates an entry for link(), which then cannot fail. Throws `no_space`.
  SharedPlace make_entry(SharedPlace stream, std::string_view name);
  void drop_entry(SharedPlace at) { allocator_.drop_with<SharedEntry>(at); }
  void link(SharedPlace at);
  void unlink(SharedPlace at);
  // Empties the table, even if a killed process has left it half changed. Returns the first entry of a key;
  // the others follow by SharedEntry::next. Allocates nothing.
  SharedPlace clear();

 private:
  using Chain = std::atomic<SharedPlace>;
  NamesState& state() { return allocator_.memory().as<NamesState>(state_); }
  Chain& bucket(const NamesState::Level& level, uint64_t hash) {
    return allocator_.memory().as<Chain>(level.buckets.load() + (hash & level.mask) * sizeof(Chain));
  }
  void add_level();

  SharedAllocator allocator_;
  const SharedPlace state_;
};

}  // namespace sheaf::streams
