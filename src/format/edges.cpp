#include "format/edges.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "base/checked.hpp"
#include "format/fields.hpp"

namespace sheaf::format {

namespace {

constexpr char edges_magic[8] = {'S', 'h', 'e', 'a', 'f', 'E', 'd', 'g'};
constexpr uint32_t edges_version = 1;
constexpr int64_t edges_page = 64 << 10;

struct EdgesAt {
  enum : size_t {
    magic = 0,
    version = 8,
    ntasks = 12,
    identity = 16,
    host = 32,
    row_size = 36,
    unit = 40,
    data_start = 48,
    skip = 56,
    hash = 64,
    end = 72
  };
};
struct EdgesRowAt {
  enum : size_t { begin = 0, end = 8, from = 16, hash = 24 };
};

uint64_t hash_of_row(const std::byte* row, const EdgesHeader& header, int64_t task) {
  const uint64_t seed = XXH3_64bits(header.identity.data(), header.identity.size());
  return XXH3_64bits_withSeed(row, EdgesRowAt::hash, seed + static_cast<uint64_t>(task));
}

}  // namespace

int64_t edges_shift(const EdgesHeader& h) {
  return must_fit(align_up(edges_row_offset(h.ntasks), std::max(h.unit, edges_page)), "the file of edges");
}

std::array<std::byte, edges_header_size> encode(const EdgesHeader& h) {
  std::array<std::byte, edges_header_size> bytes{};
  std::byte* p = bytes.data();
  std::memcpy(p + EdgesAt::magic, edges_magic, sizeof edges_magic);
  put_little<uint32_t>(p + EdgesAt::version, edges_version);
  put_little<int32_t>(p + EdgesAt::ntasks, h.ntasks);
  std::memcpy(p + EdgesAt::identity, h.identity.data(), h.identity.size());
  put_little<int32_t>(p + EdgesAt::host, h.host);
  put_little<uint32_t>(p + EdgesAt::row_size, edges_row_size);
  put_little<int64_t>(p + EdgesAt::unit, h.unit);
  put_little<int64_t>(p + EdgesAt::data_start, h.data_start);
  put_little<int64_t>(p + EdgesAt::skip, h.skip);
  put_little<uint64_t>(p + EdgesAt::hash, XXH3_64bits(p, EdgesAt::hash));
  return bytes;
}

bool begins_as_edges(std::span<const std::byte> bytes) {
  return bytes.size() >= sizeof edges_magic &&
         std::memcmp(bytes.data(), edges_magic, sizeof edges_magic) == 0;
}

std::optional<EdgesHeader> decode_edges_header(std::span<const std::byte> bytes, std::string_view path) {
  if (bytes.size() < EdgesAt::end || !begins_as_edges(bytes)) return std::nullopt;
  const std::byte* p = bytes.data();
  if (get_little<uint32_t>(p + EdgesAt::version) != edges_version ||
      get_little<uint32_t>(p + EdgesAt::row_size) != edges_row_size)
    throw file_error(Code::unsupported, path,
                     "was made by a later version of Sheaf: read or repair the multifile with that");
  if (get_little<uint64_t>(p + EdgesAt::hash) != XXH3_64bits(p, EdgesAt::hash)) return std::nullopt;
  EdgesHeader h;
  h.ntasks = get_little<int32_t>(p + EdgesAt::ntasks);
  std::memcpy(h.identity.data(), p + EdgesAt::identity, h.identity.size());
  h.host = get_little<int32_t>(p + EdgesAt::host);
  h.unit = get_little<int64_t>(p + EdgesAt::unit);
  h.data_start = get_little<int64_t>(p + EdgesAt::data_start);
  h.skip = get_little<int64_t>(p + EdgesAt::skip);
  if (h.ntasks < 0 || h.unit <= 0 || h.data_start < 0 || h.skip <= 0) return std::nullopt;
  return h;
}

std::array<std::byte, edges_row_size> encode(const EdgesRow& row, const EdgesHeader& header, int64_t task) {
  std::array<std::byte, edges_row_size> bytes{};
  std::byte* p = bytes.data();
  put_little<int64_t>(p + EdgesRowAt::begin, row.begin);
  put_little<int64_t>(p + EdgesRowAt::end, row.end);
  put_little<int64_t>(p + EdgesRowAt::from, row.from);
  put_little<uint64_t>(p + EdgesRowAt::hash, hash_of_row(p, header, task));
  return bytes;
}

std::optional<EdgesRow> decode_edges_row(std::span<const std::byte, edges_row_size> bytes,
                                         const EdgesHeader& header, int64_t task) {
  const std::byte* p = bytes.data();
  EdgesRow row;
  row.begin = get_little<int64_t>(p + EdgesRowAt::begin);
  row.end = get_little<int64_t>(p + EdgesRowAt::end);
  row.from = get_little<int64_t>(p + EdgesRowAt::from);
  if (row.begin < header.data_start || row.end <= row.begin || row.from < 0) return std::nullopt;
  if (get_little<uint64_t>(p + EdgesRowAt::hash) != hash_of_row(p, header, task)) return std::nullopt;
  return row;
}

}  // namespace sheaf::format
