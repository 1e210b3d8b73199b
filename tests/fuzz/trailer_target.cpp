// Decodes the trailer of a file with checksums: footer, table of sections, groups. If bit 0 of the first byte
// is set, magic, position and hash are corrected first, so that decoders reach the code after the check of
// the hash. If bit 1 is set, the table is truncated.
#include <algorithm>
#include <cstring>

#include "format/extension.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/packed_files.hpp"
#include "fuzz/recipe.hpp"
#include "fuzz/targets.hpp"

namespace sheaf::fuzz {

namespace {

using format::footer_size;
using format::section_entry_size;

// Returns the offset of the table.
int64_t make_sound(Bytes& bytes, int64_t before) {
  const auto sections = static_cast<uint32_t>((bytes.size() - footer_size) / section_entry_size);
  bytes.erase(bytes.begin(), bytes.end() - (int64_t{sections} * section_entry_size + footer_size));
  const auto footer = std::span(bytes).last(footer_size);
  before = before / 8 * 8;
  store<int64_t>(footer.data(), before, ByteOrder::little);
  store<uint32_t>(footer.data() + 8, sections, ByteOrder::little);
  std::memcpy(footer.data() + 56, "SheafEnd", 8);
  store<uint64_t>(footer.data() + 48, format::hash_of(std::span(bytes).first(bytes.size() - 16)),
                  ByteOrder::little);
  return before;
}

void check(const format::Trailer& t) {
  for (const format::Section& s : t.sections) {
    require(s.offset >= t.plain_end && s.length >= 0 && s.offset <= t.table - s.length,
            "sections lie in front of the table");
    require(t.find(s.kind) == &s, "no section occurs twice");
  }
  const Bytes again = format::encode(t);
  const format::Trailer same = format::decode_trailer(again, t.end(), "m");
  require(same.sections.size() == t.sections.size() && same.pointer.varheader == t.pointer.varheader &&
              same.pointer.maxblocks == t.pointer.maxblocks && same.identity == t.identity &&
              same.plain_end == t.plain_end,
          "a trailer is encoded as it was decoded");
}

void decode_sums(Recipe& recipe) {
  const auto group = recipe.filled<format::group_entry_size>();
  require(format::encode(format::decode_group(group)) == group, "a group is encoded as it was decoded");
  const int64_t used = std::max<int64_t>(0, recipe.number());
  const int64_t chunk = std::max<int64_t>(0, recipe.number());
  const uint32_t piece = 1 + static_cast<uint32_t>(recipe.number()) % format::largest_piece;
  const int64_t sums = format::sums_of_block(used, chunk, piece);
  const int64_t bytes = std::min(used, chunk);
  require(sums >= bytes / piece && sums - bytes / piece <= 1 && (sums > 0) == (bytes > 0),
          "checksums of a block");
}

}  // namespace

void fuzz_trailer(std::span<const std::byte> input) {
  Recipe recipe(input);
  const uint8_t options = recipe.byte();
  const MemoryBound bound(MemoryBound::for_structure(std::ssize(input)));
  if (options & 4) return decode_sums(recipe);
  int64_t before = std::clamp<int64_t>(recipe.number(), 0, INT64_MAX / 2);
  Bytes bytes(recipe.rest().begin(), recipe.rest().end());
  if (bytes.size() < footer_size) bytes.resize(footer_size);
  const bool sound = options & 1;
  if (sound) before = make_sound(bytes, before);
  const int64_t size = before + std::ssize(bytes);
  try {
    const auto head = format::decode_footer(std::span(bytes).last<footer_size>(), size, "m");
    if (!head) return require(!sound, "a sound footer is one");
    require(head->table >= format::fixed_size && head->table <= size - footer_size,
            "the table lies in the file");
    const size_t cut = options & 2 ? std::min(bytes.size(), size_t{options} / 8) : 0;
    check(format::decode_trailer(std::span(bytes).subspan(cut), size, "m"));
    require(cut == 0, "a trailer that is cut off is none");
  } catch (const Error& e) {
    require(e.what()[0] != '\0', "an error has a message");
  }
}

}  // namespace sheaf::fuzz
