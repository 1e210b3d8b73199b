// format/edges: encodes and decodes boundary files. Other hosts write boundary blocks as well. While a
// physical file is open for writing, each host therefore stores its bytes of boundary blocks in a boundary
// file beside it (docs/format.md, section 18).
//
// Pure functions between bytes and structs, little endian regardless of the byte order of the file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "format/extension.hpp"

namespace sheaf::format {

inline constexpr int64_t edges_header_size = 128;
inline constexpr int64_t edges_row_size = 32;

inline std::string edges_name(std::string_view physical_file, int32_t host) {
  return std::string(physical_file) + ".edges." + std::to_string(host);
}

// Identifies the physical file and describes its layout.
struct EdgesHeader {
  Identity identity{};
  int32_t ntasks = 0;
  int32_t host = 0;
  int64_t unit = 0;        // shared granularity, in bytes
  int64_t data_start = 0;  // absolute offset in the physical file
  int64_t skip = 0;        // bytes of a round of chunks

  bool operator==(const EdgesHeader&) const = default;
};

// Boundary blocks of one writing task. The task's host writes bytes [begin, end) of the physical file, and
// the corresponding bytes in later rounds of chunks. Boundary blocks are the blocks of the shared granularity
// that are not completely inside this extent. The boundary file contains only bytes of boundary blocks, and
// none from rounds before `from`.
struct EdgesRow {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t from = 0;

  bool operator==(const EdgesRow&) const = default;
};

// Returns what must be added to the offset of a byte in the physical file to get its offset in the boundary
// file. Both offsets have the same alignment to pages and to the shared granularity.
int64_t edges_shift(const EdgesHeader& header);
constexpr int64_t edges_row_offset(int64_t task) { return edges_header_size + edges_row_size * task; }

std::array<std::byte, edges_header_size> encode(const EdgesHeader& header);
// Decodes a header. Returns nullopt if it is missing or incomplete. Throws `unsupported` for an unknown
// version, naming `path`.
std::optional<EdgesHeader> decode_edges_header(std::span<const std::byte> bytes, std::string_view path);
bool begins_as_edges(std::span<const std::byte> bytes);

std::array<std::byte, edges_row_size> encode(const EdgesRow& row, const EdgesHeader& header, int64_t task);
// Decodes the row of `task`. Returns nullopt if the task has no row, or if the row belongs to an earlier
// physical file.
std::optional<EdgesRow> decode_edges_row(std::span<const std::byte, edges_row_size> bytes,
                                         const EdgesHeader& header, int64_t task);

}  // namespace sheaf::format
