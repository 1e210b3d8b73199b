#include "format/edges.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "base/checked.hpp"
#include "format/fields.hpp"

namespace sheaf::format {

namespace {

constexpr char edges_magic[8] = {'S', 'h', 'e', 'a', 'f', 'E', 'd', 'g'};
constexpr int64_t edges_page = 64 << 10;

struct EdgesAt {
  enum : size_t { fields = 8, hash = 64, end = 72 };
};
struct EdgesRowAt {
  enum : size_t { hash = 24 };
};

// Values that depend on the version of the file: the format of a header and its rows.
struct EdgesForm {
  uint32_t version = 1;
  uint32_t row_size = edges_row_size;
  bool operator==(const EdgesForm&) const = default;
};

template <class H, class Form>
auto edges_fields(H& h, Form& form) {
  return std::tie(form.version, h.ntasks, h.identity, h.host, form.row_size, h.unit, h.data_start, h.skip);
}
template <class Row>
auto edges_row(Row& row) {
  return std::tie(row.begin, row.end, row.from);
}

uint64_t hash_of_row(const std::byte* row, const EdgesHeader& header, int64_t task) {
  const uint64_t seed = XXH3_64bits(header.identity.data(), header.identity.size());
  return XXH3_64bits_withSeed(row, EdgesRowAt::hash, seed + static_cast<uint64_t>(task));
}

}  // namespace

int64_t edges_shift(const EdgesHeader& h) {
  return must_fit(align_up(edges_row_offset(h.ntasks), std::max(h.unit, edges_page)), "the file of edges");
}

std::array<std::byte, edges_header_size> encode(const EdgesHeader& h) {
  const EdgesForm form;
  return encode_sealed<edges_header_size>(edges_magic, edges_fields(h, form), EdgesAt::hash);
}

bool begins_as_edges(std::span<const std::byte> bytes) { return begins_with(bytes, edges_magic); }

std::optional<EdgesHeader> decode_edges_header(std::span<const std::byte> bytes, std::string_view path) {
  if (bytes.size() < EdgesAt::end || !begins_as_edges(bytes)) return std::nullopt;
  const std::byte* p = bytes.data();
  EdgesHeader h;
  EdgesForm form;
  get_fields(p + EdgesAt::fields, edges_fields(h, form));
  if (form != EdgesForm{})
    throw file_error(Code::unsupported, path,
                     "was made by a later version of Sheaf: read or repair the multifile with that");
  if (get_little<uint64_t>(p + EdgesAt::hash) != XXH3_64bits(p, EdgesAt::hash)) return std::nullopt;
  if (h.ntasks < 0 || h.unit <= 0 || h.data_start < 0 || h.skip <= 0) return std::nullopt;
  return h;
}

std::array<std::byte, edges_row_size> encode(const EdgesRow& row, const EdgesHeader& header, int64_t task) {
  std::array<std::byte, edges_row_size> bytes{};
  std::byte* p = bytes.data();
  put_fields(p, edges_row(row));
  put_little<uint64_t>(p + EdgesRowAt::hash, hash_of_row(p, header, task));
  return bytes;
}

std::optional<EdgesRow> decode_edges_row(std::span<const std::byte, edges_row_size> bytes,
                                         const EdgesHeader& header, int64_t task) {
  const std::byte* p = bytes.data();
  EdgesRow row;
  get_fields(p, edges_row(row));
  if (row.begin < header.data_start || row.end <= row.begin || row.from < 0) return std::nullopt;
  if (get_little<uint64_t>(p + EdgesRowAt::hash) != hash_of_row(p, header, task)) return std::nullopt;
  return row;
}

}  // namespace sheaf::format
