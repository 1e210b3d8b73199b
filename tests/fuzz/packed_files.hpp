// packed_files: interprets a fuzzer's bytes as up to four physical files and the way to read them.
//
// Byte 0 has the number of files - 1 (2 bits), byte 1 the options. Then follow 16 bytes per file, little
// endian: length of its head (4), length of its tail (4), offset of its tail (8). All heads and tails follow.
// A file has a hole between head and tail, so a few bytes can represent a very large file. Any bytes can be
// unpacked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fuzz/span_file.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::fuzz {

using Bytes = std::vector<std::byte>;

struct PackedInputFile {
  Bytes head;
  Bytes tail;
  int64_t tail_at = 0;  // >= head.size()

  int64_t size() const { return tail.empty() ? std::ssize(head) : tail_at + std::ssize(tail); }
  // Returns the `count` bytes at `offset`, or null unless the head or the tail contains all of them.
  std::byte* find(int64_t offset, int64_t count);
};

struct PackedFiles {
  uint8_t options = 0;
  std::vector<PackedInputFile> files;

  int processes() const { return 1 + options % 4; }
  int64_t buffer_bytes() const;                                                 // for the streams
  bool option(int number) const { return (options >> (4 + number) & 1) != 0; }  // 0..3

  int64_t bytes() const;  // without the holes
  // Returns true if a header claims more metadata than all bytes outside the holes plus `most` bytes in them.
  // Targets skip such files, because readers traverse all metadata, and some keep all of it in memory.
  bool holes_hold_metadata(int64_t most = 0) const;
};

PackedFiles unpack(std::span<const std::byte> bytes);
Bytes pack(const PackedFiles& files);

// Writes the files to `store` under the names "m", "m.000001", ...
void put_files(MemoryStore& store, const PackedFiles& files);
// Returns a store for reading that has the same files under the same names. It does not copy the bytes, so
// `files` must outlive the result.
SpanStore files_to_read(const PackedFiles& files);
// Packs all files "m", "m.000001", ... of `store`. The longest sequence of zeros of each file becomes its
// hole.
PackedFiles take_files(const MemoryStore& store, uint8_t options);
PackedInputFile with_hole(Bytes contents);

}  // namespace sheaf::fuzz
