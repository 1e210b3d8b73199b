// packed_files: what the bytes of a fuzzer stand for: up to four physical files and how to read them.
//
// Byte 0: number of files - 1 (2 bits). Byte 1: options. Then for every file 16 bytes, little endian: bytes
// of its head (4), bytes of its tail (4), offset of the tail (8); behind them all heads and tails. What lies
// between head and tail is a hole, so few bytes can stand for a very large file. Any bytes can be unpacked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fuzz/span_file.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::fuzz {

using Bytes = std::vector<std::byte>;

struct PackedFile {
  Bytes head;
  Bytes tail;
  int64_t tail_at = 0;  // >= head.size()

  int64_t size() const { return tail.empty() ? std::ssize(head) : tail_at + std::ssize(tail); }
  // The `count` bytes at `offset` if head or tail hold all of them, else null.
  std::byte* find(int64_t offset, int64_t count);
};

struct PackedFiles {
  uint8_t options = 0;
  std::vector<PackedFile> files;

  int processes() const { return 1 + options % 4; }
  int64_t buffer_bytes() const;                                                 // of the streams
  bool option(int number) const { return (options >> (4 + number) & 1) != 0; }  // 0..3

  int64_t bytes() const;  // without the holes
  // True if a header claims more metadata than there are bytes outside the holes, and `most` bytes inside.
  // Readers go through all of it, and some hold it.
  bool holes_hold_metadata(int64_t most = 0) const;
};

PackedFiles unpack(std::span<const std::byte> bytes);
Bytes pack(const PackedFiles& files);

// Names: "m", "m.000001", ...
void put_files(MemoryStore& store, const PackedFiles& files);
// The same for reading, without a copy: `files` outlives its use.
SpanStore files_to_read(const PackedFiles& files);
// The reverse, of all files of a multifile that `store` holds under those names; the longest run of zeros
// becomes a hole.
PackedFiles take_files(const MemoryStore& store, uint8_t options);
PackedFile with_hole(Bytes contents);

}  // namespace sheaf::fuzz
