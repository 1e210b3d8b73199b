// format/edges: the file beside an unclosed physical file in which a host keeps what lies in units that other
// hosts write, too (docs/format.md, section 18).
//
// Pure functions between bytes and structs, little endian whatever the byte order of the file.
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

// What ties the file to its physical file, and says how that is laid out.
struct EdgesHeader {
  Identity identity{};
  int32_t ntasks = 0;
  int32_t host = 0;
  int64_t unit = 0;        // bytes
  int64_t data_start = 0;  // absolute offset in the physical file
  int64_t skip = 0;        // bytes of a round of chunks

  bool operator==(const EdgesHeader&) const = default;
};

// The run of a task that has written here: of the bytes [begin, end) of the physical file, and of their like
// in later rounds of chunks, those are here that lie in units which are not wholly within. Rounds before
// `from` have none here.
struct EdgesRow {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t from = 0;

  bool operator==(const EdgesRow&) const = default;
};

// Byte `offset` of the physical file is at offset + edges_shift() here: as far behind a border of pages and
// units.
int64_t edges_shift(const EdgesHeader& header);
constexpr int64_t edges_row_offset(int64_t task) { return edges_header_size + edges_row_size * task; }

std::array<std::byte, edges_header_size> encode(const EdgesHeader& header);
// nullopt: they are no such header, or not a whole one. Throws unsupported for a version that is not known,
// naming `path`.
std::optional<EdgesHeader> decode_edges_header(std::span<const std::byte> bytes, std::string_view path);
bool begins_as_edges(std::span<const std::byte> bytes);

std::array<std::byte, edges_row_size> encode(const EdgesRow& row, const EdgesHeader& header, int64_t task);
// nullopt: the task has none, or an earlier file had it.
std::optional<EdgesRow> decode_edges_row(std::span<const std::byte, edges_row_size> bytes,
                                         const EdgesHeader& header, int64_t task);

}  // namespace sheaf::format
