#include "fuzz/reseal.hpp"

#include <algorithm>
#include <cstring>

#include "format/extension.hpp"
#include "layout/chunk_layout.hpp"

namespace sheaf::fuzz {

namespace {

using format::footer_size;
using format::section_entry_size;

bool has_extension(PackedInputFile& f) {
  const std::byte* const at = f.find(format::extension_offset, format::extension_size);
  return at && std::memcmp(at, "\x89Sheaf\r\n", 8) == 0;
}

Bytes& last_part(PackedInputFile& f) { return f.tail.empty() ? f.head : f.tail; }

std::byte* find_footer(PackedInputFile& f) {
  Bytes& end = last_part(f);
  if (end.size() < footer_size) return nullptr;
  std::byte* const footer = end.data() + end.size() - footer_size;
  return std::memcmp(footer + 56, "SheafEnd", 8) == 0 ? footer : nullptr;
}

template <class T>
T get(const std::byte* at) {
  return load<T>(at, ByteOrder::little);
}
template <class T>
void put(std::byte* at, T value) {
  store<T>(at, value, ByteOrder::little);
}

std::optional<uint64_t> hash_of_parts(PackedInputFile& f,
                                      std::initializer_list<std::pair<int64_t, int64_t>> parts) {
  format::Hash hash;
  for (const auto& [offset, length] : parts) {
    const std::byte* const bytes = f.find(offset, length);
    if (!bytes) return std::nullopt;
    hash.add({bytes, static_cast<size_t>(length)});
  }
  return hash.value();
}

void put_if(std::byte* at, const std::optional<uint64_t>& hash) {
  if (at && hash) put<uint64_t>(at, *hash);
}

// Corrects only the hashes of the first group and of the first part of the mapping, because no seed has more
// tasks.
void reseal_sections(PackedInputFile& f, const format::Header& h, const format::Pointer& p,
                     std::span<std::byte> table) {
  const int64_t n = h.ntasks;
  if (n > format::group_tasks || p.maxblocks < 0 || p.maxblocks > 1 << 16 || p.varheader < 0 ||
      p.varheader > f.size())
    return;
  const int64_t behind = p.varheader + layout::meta2_size(n, p.maxblocks);
  for (; !table.empty(); table = table.subspan(section_entry_size)) {
    const auto kind = static_cast<format::SectionKind>(get<uint32_t>(table.data()));
    const auto at = get<int64_t>(table.data() + 8);
    if (kind == format::SectionKind::groups) {
      put_if(f.find(at, 8),
             hash_of_parts(f, {{h.globalranks_offset(), 8 * n}, {h.chunksizes_offset(), 8 * n}}));
      put_if(f.find(at + 8, 8), hash_of_parts(f, {{p.varheader, behind - p.varheader}}));
    } else if (kind == format::SectionKind::mapping) {
      const std::byte* const size = f.find(behind, 4);
      if (size)
        put_if(f.find(at, 8),
               hash_of_parts(f, {{behind, 4 + 8 * int64_t{load<int32_t>(size, h.metadata_order)}}}));
    }
  }
}

void reseal_trailer(PackedInputFile& f, const format::Header& h, const format::Pointer& p,
                    std::byte* footer) {
  const auto sections = get<uint32_t>(footer + 8);
  const auto bytes = static_cast<size_t>(section_entry_size) * sections;
  if (sections > format::max_sections || last_part(f).size() < bytes + footer_size) return;
  const std::span table(footer - bytes, bytes);
  const int64_t begins = f.size() - footer_size - std::ssize(table);
  const auto moved = static_cast<uint64_t>(begins) - get<uint64_t>(footer);
  const auto move = [&](std::byte* at) { put<uint64_t>(at, get<uint64_t>(at) + moved); };
  move(footer);
  move(footer + 40);
  for (size_t at = 0; at < table.size(); at += section_entry_size) move(&table[at + 8]);
  put<int32_t>(footer + 12, p.maxblocks);
  put<int64_t>(footer + 16, p.varheader);
  reseal_sections(f, h, p, table);
  put<uint64_t>(footer + 48, format::hash_of({table.data(), table.size() + 48}));
}

}  // namespace

void reseal(PackedInputFile& f) {
  std::byte* const fixed = f.find(0, format::fixed_size);
  if (!fixed || !has_extension(f)) return;
  put<uint64_t>(fixed + format::fixed_size - 8, format::hash_of({fixed, format::fixed_size - 8}));
  std::byte* const footer = find_footer(f);
  if (!footer) return;
  format::Header h;
  try {
    h = format::decode_header({fixed, format::fixed_size}, "m");
  } catch (const Error&) {
    return;
  }
  const std::byte* const at = f.find(h.pointer_offset(), format::pointer_size);
  if (!at) return;
  const auto p = format::decode_pointer(
      std::span<const std::byte, format::pointer_size>(at, format::pointer_size), h.metadata_order);
  reseal_trailer(f, h, p, footer);
}

void strip(PackedInputFile& f) {
  if (!has_extension(f)) return;
  *f.find(format::extension_offset, 1) = std::byte{};
  std::memcpy(f.find(0, 4), "sion", 4);
  const std::byte* const footer = find_footer(f);
  if (!footer) return;
  Bytes& end = last_part(f);
  const int64_t begin = f.size() - std::ssize(end);
  const auto plain_end = get<int64_t>(footer + 40);
  if (plain_end >= begin && plain_end < f.size()) end.resize(static_cast<size_t>(plain_end - begin));
}

}  // namespace sheaf::fuzz
