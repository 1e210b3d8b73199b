// mount/stream_checksum: the CRC32C of a whole stream, from the checksums of its pieces that the multifile
// has, without reading the stream.
#pragma once

#include <optional>
#include <string>

#include "metadata/physical_file.hpp"

namespace sheaf::mount {

// "crc32c:0123abcd". Nothing where the checksums do not tell: the file has none, they are those of compressed
// bytes, or a block goes beyond its chunk. Throws what reading throws.
std::optional<std::string> stream_checksum(const PhysicalFile& file, const TaskRow& row);

}  // namespace sheaf::mount
