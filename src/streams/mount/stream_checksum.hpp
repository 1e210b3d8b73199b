// streams/mount/stream_checksum: computes the CRC32C of a complete stream from the piece checksums in the
// multifile, without reading the stream.
#pragma once

#include <optional>
#include <string>

#include "multifile/metadata/physical_file.hpp"

namespace sheaf::mount {

// Returns text like "crc32c:0123abcd". Returns nullopt if the file has no checksums, if they cover compressed
// bytes, or if a block exceeds its chunk. Throws the errors of reading.
std::optional<std::string> stream_checksum(const multifile::PhysicalFile& file,
                                           const multifile::TaskRow& row);

}  // namespace sheaf::mount
