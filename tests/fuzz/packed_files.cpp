#include "fuzz/packed_files.hpp"

#include <algorithm>

#include "base/byte_order.hpp"
#include "format/header.hpp"
#include "layout/chunk_layout.hpp"

namespace sheaf::fuzz {

namespace {

constexpr size_t max_files = 4;
constexpr size_t entry_bytes = 16;
constexpr int64_t largest_offset = int64_t{1} << 62;

// Returns the first `count` bytes of `rest`, or all if there are fewer, and removes them from `rest`.
Bytes take(std::span<const std::byte>& rest, size_t count) {
  const auto piece = rest.first(std::min(count, rest.size()));
  rest = rest.subspan(piece.size());
  return {piece.begin(), piece.end()};
}

}  // namespace

std::byte* PackedInputFile::find(int64_t offset, int64_t count) {
  if (offset < 0 || count < 0 || offset > size() - count) return nullptr;
  if (offset + count <= std::ssize(head)) return head.data() + offset;
  if (offset < tail_at || offset - tail_at + count > std::ssize(tail)) return nullptr;
  return tail.data() + (offset - tail_at);
}

int64_t PackedFiles::buffer_bytes() const {
  constexpr int64_t choices[] = {64 << 10, 0, 7, 300};
  return choices[options >> 2 & 3];
}

int64_t PackedFiles::bytes() const {
  int64_t sum = 0;
  for (const PackedInputFile& f : files) sum += std::ssize(f.head) + std::ssize(f.tail);
  return sum;
}

bool PackedFiles::holes_hold_metadata(int64_t most) const {
  const int64_t there = 64 * bytes() + most;
  for (const PackedInputFile& file : files) {
    if (file.tail.empty()) continue;
    PackedInputFile f = file;
    format::Header h;
    try {
      h = format::decode_header(std::span(f.head).first(std::min<size_t>(f.head.size(), format::fixed_size)),
                                "m");
    } catch (const Error&) {
      continue;
    }
    if (16 * int64_t{h.ntasks} > there) return true;
    const std::byte* at = f.find(h.pointer_offset(), format::pointer_size);
    if (!at) continue;
    const format::Pointer p = format::decode_pointer(
        std::span<const std::byte, format::pointer_size>(at, format::pointer_size), h.metadata_order);
    if (p.maxblocks > there || 8 * int64_t{h.ntasks} * (1 + int64_t{p.maxblocks}) > there) return true;
    if (p.maxblocks < 0 || p.varheader < 0 || p.varheader > f.size()) continue;
    at = f.find(p.varheader + layout::meta2_size(h.ntasks, p.maxblocks), 4);
    if (at && 8 * int64_t{load<int32_t>(at, h.metadata_order)} > there) return true;  // the mapping
  }
  return false;
}

PackedFiles unpack(std::span<const std::byte> bytes) {
  PackedFiles packed;
  if (bytes.size() < 2) return packed;
  packed.files.resize(1 + static_cast<size_t>(bytes[0]) % max_files);
  packed.options = static_cast<uint8_t>(bytes[1]);
  std::span<const std::byte> table = bytes.subspan(2);
  const size_t table_bytes = entry_bytes * packed.files.size();
  if (table.size() < table_bytes) {
    packed.files.clear();
    return packed;
  }
  std::span<const std::byte> rest = table.subspan(table_bytes);
  for (PackedInputFile& f : packed.files) {
    f.head = take(rest, load<uint32_t>(table.data(), ByteOrder::little));
    f.tail = take(rest, load<uint32_t>(table.data() + 4, ByteOrder::little));
    f.tail_at = load<int64_t>(table.data() + 8, ByteOrder::little) & (largest_offset - 1);
    f.tail_at = std::max(f.tail_at, std::ssize(f.head));
    table = table.subspan(entry_bytes);
  }
  return packed;
}

Bytes pack(const PackedFiles& packed) {
  Bytes bytes{static_cast<std::byte>(packed.files.size() - 1), static_cast<std::byte>(packed.options)};
  const auto add = [&]<class T>(T value) {
    std::byte stored[sizeof(T)];
    sheaf::store<T>(stored, value, ByteOrder::little);
    bytes.insert(bytes.end(), stored, stored + sizeof(T));
  };
  for (const PackedInputFile& f : packed.files) {
    add(static_cast<uint32_t>(f.head.size()));
    add(static_cast<uint32_t>(f.tail.size()));
    add(f.tail_at);
  }
  for (const PackedInputFile& f : packed.files) {
    bytes.insert(bytes.end(), f.head.begin(), f.head.end());
    bytes.insert(bytes.end(), f.tail.begin(), f.tail.end());
  }
  return bytes;
}

void put_files(MemoryStore& store, const PackedFiles& packed) {
  for (size_t k = 0; k < packed.files.size(); ++k) {
    const PackedInputFile& f = packed.files[k];
    const std::string name = format::physical_name("m", static_cast<int32_t>(k));
    store.set_contents(name, f.head);
    if (!f.tail.empty()) store.open(name, Access::write)->write_at(f.tail, f.tail_at);
  }
}

SpanStore files_to_read(const PackedFiles& packed) {
  std::vector<std::shared_ptr<SpanFile>> all;
  for (const PackedInputFile& f : packed.files) {
    const auto number = static_cast<int32_t>(all.size());
    all.push_back(std::make_shared<SpanFile>(format::physical_name("m", number)));
    all.back()->set(f.head, f.tail, f.tail_at);
  }
  return SpanStore(std::move(all));
}

PackedInputFile with_hole(Bytes contents) {
  constexpr int64_t behind_header = format::fixed_size;
  int64_t best = 0, length = 0;
  for (int64_t at = behind_header, begin = at; at < std::ssize(contents); ++at) {
    if (contents[static_cast<size_t>(at)] != std::byte{0}) begin = at + 1;
    if (at + 1 - begin > length) {
      best = begin;
      length = at + 1 - begin;
    }
  }
  if (length < 64) return {std::move(contents), {}, 0};
  const auto middle = contents.begin() + best;
  return {Bytes(contents.begin(), middle), Bytes(middle + length, contents.end()), best + length};
}

PackedFiles take_files(const MemoryStore& store, uint8_t options) {
  PackedFiles packed;
  packed.options = options;
  for (const std::string& path : store.paths()) packed.files.push_back(with_hole(store.contents(path)));
  return packed;
}

}  // namespace sheaf::fuzz
