// packed_files: interprets a fuzzer's bytes as up to four physical files and the way to read them.
//
// Byte 0: number of files - 1 (2 bits). Byte 1: options. Then 16 bytes per file, little endian: bytes of its
// head (4), bytes of its tail (4), offset of the tail (8); finally all heads and tails. Between head and tail
// is a hole, so a few bytes can represent a very large file. Any bytes can be unpacked.
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
  // Returns the `count` bytes at `offset` if head or tail holds all of the extent, else null.
  std::byte* find(int64_t offset, int64_t count);
};

struct PackedFiles {
  uint8_t options = 0;
  std::vector<PackedFile> files;

  int processes() const { return 1 + options % 4; }
  int64_t buffer_bytes() const;                                                 // for the streams
  bool option(int number) const { return (options >> (4 + number) & 1) != 0; }  // 0..3

  int64_t bytes() const;  // without the holes
  // Returns whether a header claims more metadata than there are bytes outside the holes, plus `most` bytes
  // inside. Readers traverse all metadata, and some keep it in memory.
  bool holes_hold_metadata(int64_t most = 0) const;
};

PackedFiles unpack(std::span<const std::byte> bytes);
Bytes pack(const PackedFiles& files);

// Names: "m", "m.000001", ...
void put_files(MemoryStore& store, const PackedFiles& files);
// Like put_files(), for reading and without a copy: `files` must outlive the result.
SpanStore files_to_read(const PackedFiles& files);
// Packs all files of a multifile that `store` holds under those names. The longest run of zeros becomes a
// hole.
PackedFiles take_files(const MemoryStore& store, uint8_t options);
PackedFile with_hole(Bytes contents);

}  // namespace sheaf::fuzz
