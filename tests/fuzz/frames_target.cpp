// Decodes frames: heads, tables, indices, and stored bytes with their codec. The first byte of the input
// selects the structure. If its highest bit is set, magic numbers and checksums are correct.
#include <algorithm>
#include <cstring>

#include "base/crc32c.hpp"
#include "base/error.hpp"
#include "format/codec/frame_coder.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/packed_files.hpp"
#include "fuzz/recipe.hpp"
#include "fuzz/targets.hpp"
#include "support/frame_index.hpp"

namespace sheaf::fuzz {

namespace {

using format::decode_index;
using format::frame_head_size;
using format::FrameHead;
using format::FrameTable;
using format::index_end_size;
using format::index_entry_size;

constexpr int64_t max_plain = 8 << 10;  // bytes of a frame
constexpr size_t max_frames = 200;

void decode_a_head(Recipe recipe, bool sound) {
  auto bytes = recipe.filled<frame_head_size>();
  if (sound) {
    std::memcpy(bytes.data(), "SFrm", 4);
    store<uint64_t>(bytes.data() + 32, format::hash_of(std::span(bytes).first(32)), ByteOrder::little);
  }
  const auto head = format::decode_frame(bytes);
  if (!head) return;
  require(head->kind == FrameHead::FrameKind::index ||
              (head->plain <= format::largest_frame && head->stored <= head->plain),
          "limits of a frame");
  const auto again = format::decode_frame(format::encode(*head));
  require(again == head, "a head is encoded as it was decoded");
}

// Checks that each frame begins at the end of the previous one, and that find() returns the frame that
// contains a position.
void check_table(const FrameTable& table) {
  int64_t sum = 0;
  for (const format::Frame& f : table.frames()) {
    sum += f.used;
    if (f.used == 0) continue;
    for (const int64_t into : {int64_t{0}, int64_t{f.used} - 1}) {
      const format::Frame& found = table.frames()[table.find({f.at.block, f.at.offset + into})];
      require(found.at == f.at && found.stored == f.stored, "the frame that holds a place");
    }
  }
  int64_t blocks = 0;
  for (const int64_t size : table.block_sizes()) blocks += size;
  require(sum == blocks, "frames add up to the blocks");
}

void check_index(const FrameTable& table, int64_t stored) {
  const auto bytes = table.encode_index(stored);
  require(bytes.has_value(), "an index of a few frames");
  const auto begin =
      format::decode_index_end(std::span(*bytes).last<index_end_size>(), stored + std::ssize(*bytes));
  require(begin == stored, "an index says where it begins");
  const auto again = decode_index(*bytes, stored);
  require(again && again->frames().size() == table.frames().size() && again->end() == table.end(),
          "an index is decoded as it was encoded");
}

// Builds a table of frames in the order of a writer that may seek back. The frames are stored consecutively.
void build_a_table(Recipe recipe) {
  FrameTable table;
  int64_t stored = 0;
  while (!recipe.empty() && table.frames().size() < max_frames) {
    FrameHead head;
    const uint8_t how = recipe.byte();
    head.plain = static_cast<uint32_t>(recipe.number()) % (format::largest_frame + 1);
    head.stored = std::min<uint32_t>(head.plain, recipe.byte());
    head.at = table.end();
    if (how & 1) head.at = {head.at.block + (how >> 4), 0};
    if (how & 2) head.at.offset -= std::min<int64_t>(head.at.offset, how >> 4);
    if (how & 4) head.at = {recipe.byte(), std::clamp<int64_t>(recipe.number(), 0, INT64_MAX / 4)};
    const auto before = table.frames().size();
    if (table.add(head, stored)) {
      stored += head.size();
      require(table.end() == format::PlainPlace{head.at.block, head.at.offset + head.plain},
              "the last frame is the end");
    } else {
      require(table.frames().size() <= before, "what is refused adds nothing");
      break;
    }
  }
  check_table(table);
  check_index(table, stored);
}

void decode_an_index(Recipe recipe, bool sound) {
  const int64_t stored = std::clamp<int64_t>(recipe.number(), 0, INT64_MAX / 4);
  const auto given = recipe.bytes(max_frames * index_entry_size);
  Bytes bytes(given.begin(), given.end());
  if (sound) {
    const size_t entries = bytes.size() / index_entry_size;
    bytes.resize(entries * index_entry_size);
    FrameHead head;
    head.kind = FrameHead::FrameKind::index;
    head.plain = static_cast<uint32_t>(entries);
    head.stored = static_cast<uint32_t>(bytes.size() + index_end_size);
    bytes.resize(head.stored);
    head.sum = crc32c(0, bytes);
    const auto front = format::encode(head);
    bytes.insert(bytes.begin(), front.begin(), front.end());
  }
  const auto table = decode_index(bytes, stored);
  if (!table) return;
  require(table->frames().size() * index_entry_size <= bytes.size(), "no more frames than there are entries");
  int64_t least = 0;
  for (const format::Frame& f : table->frames()) {
    require(f.stored >= least && f.stored + int64_t{f.size} <= stored, "frames lie in the stream");
    least = f.stored + f.size;
  }
  check_table(*table);
}

// Decodes stored bytes. If the checksum is correct, the codec's output must match the head of the frame.
void decode_stored(Recipe recipe, bool sound) {
  static codec::FrameDecoder decoder;
  static codec::Decompressor plain_decoder;
  static Bytes out(max_plain), raw(max_plain);
  FrameHead head;
  head.codec = static_cast<format::Codec>(recipe.byte() % 4);
  head.shuffle = recipe.byte();
  head.plain = static_cast<uint32_t>(std::clamp<int64_t>(recipe.number(), 0, max_plain));
  const auto stored = recipe.rest();
  head.stored = static_cast<uint32_t>(stored.size());
  if (head.codec == format::Codec::none) head.plain = std::min(head.plain, head.stored);
  const auto there = std::span(out).first(head.plain);
  if (sound && head.codec != format::Codec::none && head.shuffle < 2) {
    const auto expected = std::span(raw).first(head.plain);
    if (!plain_decoder.decompress(head.codec, stored, expected)) return;
    head.sum = crc32c(0, expected);
    decoder.decode(head, stored, there, "m");
    return require(std::ranges::equal(there, expected), "plain bytes of a frame");
  }
  decoder.decode(head, stored, there, "m");
  require(crc32c(0, there) == head.sum, "only what matches its checksum");
}

void encode_and_decode(Recipe recipe) {
  const auto how = recipe.byte();
  const auto methods = codec::methods();
  const codec::Compression compression{methods[how % methods.size()]->codec, 1,
                                       static_cast<uint8_t>(how >> 4)};
  codec::FrameEncoder encoder(compression);
  static codec::FrameDecoder decoder;
  codec::Scratch scratch;
  Bytes plain;
  while (!recipe.empty() && std::ssize(plain) < max_plain / 2) {
    const uint8_t run = recipe.byte();
    plain.insert(plain.end(), 1U + run % 64, std::byte{recipe.byte()});
  }
  const auto frame = encoder.encode({}, plain, scratch);
  const auto head = format::decode_frame(frame.first<frame_head_size>());
  require(head && head->size() == std::ssize(frame) && head->plain == plain.size(),
          "an encoder makes frames");
  Bytes again(plain.size());
  decoder.decode(*head, frame.subspan(frame_head_size), again, "m");
  require(again == plain, "plain bytes of an encoded frame");
}

}  // namespace

void fuzz_frames(std::span<const std::byte> input) {
  Recipe recipe(input);
  const uint8_t kind = recipe.byte();
  const bool sound = kind & 0x80;
  // Memory of the codec itself, and one or two frames.
  const MemoryBound bound(MemoryBound::for_structure(std::ssize(input)) + 4 * max_plain + (2 << 20));
  try {
    switch (kind % 8) {
      case 0:
        return decode_a_head(recipe, sound);
      case 1:
      case 2:
        return build_a_table(recipe);
      case 3:
      case 4:
        return decode_an_index(recipe, sound);
      case 5:
      case 6:
        return decode_stored(recipe, sound);
      default:
        return kind & 0x70 ? build_a_table(recipe) : encode_and_decode(recipe);
    }
  } catch (const Error& e) {
    require(e.what()[0] != '\0', "an error has a message");
  }
}

}  // namespace sheaf::fuzz
