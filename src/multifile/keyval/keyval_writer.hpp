// multifile/keyval/keyval_writer: appends key-value records to the stream of a task (docs/format.md, section
// "Key-value records"). Key, length and value are stored without padding, in chunks that are full except for
// the last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/byte_order.hpp"
#include "multifile/keyval/constants.hpp"
#include "multifile/stream/write_stream.hpp"

namespace sheaf::multifile {

using keyval_constants::record_header_bytes;

// The 16 bytes that precede a value.
using RecordHead = std::array<std::byte, record_header_bytes>;
RecordHead record_head(ByteOrder metadata_order, uint64_t key, uint64_t value_bytes);

// Appends one record. The value may be empty, or larger than a chunk. Throws what WriteStream::write throws,
// and then writes nothing.
void write_record(WriteStream& stream, ByteOrder metadata_order, uint64_t key,
                  std::span<const std::byte> value);

// Appends one record in native byte order to the window, without a call of the stream, if all of the record
// fits. Otherwise returns false and changes nothing.
inline bool put_record(StreamWindow& window, uint64_t key, const void* value, size_t bytes) {
  const auto room = static_cast<size_t>(window.end - window.at);
  if (room < record_header_bytes || bytes > room - record_header_bytes) return false;
  const uint64_t length = bytes;
  std::memcpy(window.at, &key, 8);
  std::memcpy(window.at + 8, &length, 8);
  if (bytes > 0) std::memcpy(window.at + record_header_bytes, value, bytes);
  window.at += record_header_bytes + bytes;
  return true;
}

}  // namespace sheaf::multifile
