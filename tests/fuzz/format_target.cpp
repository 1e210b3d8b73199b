// Headers, pointers, arrays, names, open modes and file tables. The first byte chooses.
#include <algorithm>
#include <array>
#include <vector>

#include "format/header.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/targets.hpp"
#include "multifile/file_table.hpp"
#include "multifile/open_mode.hpp"

namespace sheaf::fuzz {

namespace {

std::string text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

void decode_a_header(std::span<const std::byte> bytes) {
  const format::Header h = format::decode_header(bytes.first(std::min<size_t>(bytes.size(), format::fixed_size)), "m");
  require(h.fsblksize > 0 && h.ntasks >= 0 && h.nfiles >= 1 && h.filenumber >= 0, "limits of the header");
  require(h.name().size() < format::prefix_size, "the name ends");
  require(h.pointer_offset() >= format::fixed_size_v2 && h.pointer_offset() < int64_t{1} << 36, "offsets of the header");
  format::Header newest = h;
  newest.version = format::newest_version;
  if (h.version < 5) newest.flag1 = format::Header::flag_of(format::KeyvalMode::none);
  const auto encoded = format::encode(newest);
  const format::Header again = format::decode_header(encoded, "m");
  require(format::encode(again) == encoded, "a header is encoded as it was decoded");
}

template <class T>
void decode_values(std::span<const std::byte> bytes, ByteOrder order) {
  std::vector<T> values(bytes.size() / sizeof(T));
  bytes = bytes.first(values.size() * sizeof(T));
  format::decode(bytes, order, std::span(values));
  std::vector<std::byte> again(bytes.size());
  format::encode(std::span<const T>(values), order, again);
  require(std::equal(bytes.begin(), bytes.end(), again.begin()), "an array is encoded as it was decoded");
}

void decode_a_pointer(std::span<const std::byte> bytes, ByteOrder order) {
  std::array<std::byte, format::pointer_size> stored{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), stored.size()), stored.begin());
  require(format::encode(format::decode_pointer(stored, order), order) == stored, "a pointer is encoded as it was decoded");
}

void parse_a_table(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const auto ntasks = static_cast<int64_t>(bytes[0]);
  const std::vector<int32_t> table = parse_file_table(text_of(bytes.subspan(1)), "m", ntasks);
  require(std::ssize(table) == ntasks, "a file for every task");
  require(std::ranges::all_of(table, [&](int32_t f) { return f >= 0 && f < ntasks; }), "numbers of files");
}

void parse_modes(std::span<const std::byte> bytes) {
  const std::string text = text_of(bytes);
  const size_t half = std::min(text.find('|'), text.size());
  const OpenMode mode = parse_open_mode(text.substr(0, half), text.substr(std::min(half + 1, text.size())));
  require(mode.read_buffer() >= 0, "size of the buffer");
}

}  // namespace

void fuzz_format(std::span<const std::byte> input) {
  if (input.empty()) return;
  const auto kind = static_cast<uint8_t>(input[0]);
  const ByteOrder order = kind & 0x80 ? ByteOrder::big : ByteOrder::little;
  const std::span<const std::byte> bytes = input.subspan(1);
  const MemoryBound bound(MemoryBound::for_files(std::ssize(input)));
  try {
    switch (kind % 8) {
      case 0: return decode_values<int64_t>(bytes, order);
      case 1: return decode_values<int32_t>(bytes, order);
      case 2: return decode_a_pointer(bytes, order);
      case 3: return require(format::physical_name(text_of(bytes), kind).size() < format::prefix_size, "length of a name");
      case 4: return parse_a_table(bytes);
      case 5: return parse_modes(bytes);
      default: return decode_a_header(bytes);
    }
  } catch (const Error& e) {
    require(e.what()[0] != '\0', "an error has a message");
  }
}

}  // namespace sheaf::fuzz
