// Reads a stored stream of frames. If bit 0 of the first byte is set, the file was not closed. If bit 1 is
// set, the remaining bytes describe the stream, because random bytes do not pass the checksums of heads: 12
// bytes per frame, then the stored bytes. Otherwise the remaining bytes are the stream. If bit 2 is set, the
// stream has an index.
#include <algorithm>
#include <vector>

#include "base/byte_order.hpp"
#include "base/crc32c.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/span_file.hpp"
#include "fuzz/targets.hpp"
#include "multifile/frames/plain_file.hpp"

namespace sheaf::fuzz {

using namespace multifile;

namespace {

using Bytes = std::vector<std::byte>;
constexpr int64_t max_read =
    32 << 20;  // longer streams are not read, because a few bytes may represent large data

Bytes make_stream(std::span<const std::byte> recipe, bool with_index) {
  Bytes stream;
  format::FrameTable table;
  while (recipe.size() >= 12) {
    format::FrameHead head;
    head.codec = static_cast<format::Codec>(static_cast<uint8_t>(recipe[0]) % 3);
    head.shuffle = static_cast<uint8_t>(recipe[1]);
    head.at.block = static_cast<uint8_t>(recipe[2]);
    head.plain =
        load<uint32_t>(recipe.data() + 4, ByteOrder::little) >> (static_cast<uint8_t>(recipe[3]) % 32);
    head.at.offset =
        load<uint32_t>(recipe.data() + 8, ByteOrder::little) >> (static_cast<uint8_t>(recipe[3]) / 8);
    recipe = recipe.subspan(12);
    const auto stored = recipe.first(std::min<size_t>({recipe.size(), head.plain, size_t{64}}));
    recipe = recipe.subspan(stored.size());
    head.stored = static_cast<uint32_t>(stored.size());
    if (head.codec == format::Codec::none) head.plain = head.stored;
    head.sum = crc32c(0, stored);
    table.add(head, std::ssize(stream));
    const auto bytes = format::encode(head);
    stream.insert(stream.end(), bytes.begin(), bytes.end());
    stream.insert(stream.end(), stored.begin(), stored.end());
  }
  if (with_index)
    if (const auto index = table.encode_index(std::ssize(stream)))
      stream.insert(stream.end(), index->begin(), index->end());
  return stream;
}

void read_ranges(PlainFile& file, const Bytes& all) {
  const layout::ChunkGeometry chunks = file.geometry(0);
  const BlockSizes sizes = file.sizes_of(0);
  int64_t before = 0;
  for (int64_t b = 0; b < std::min<int64_t>(sizes.count, 20) && before < std::ssize(all);
       before += sizes[b++]) {
    Bytes middle(static_cast<size_t>(
        std::min<int64_t>({sizes[b] / 3, 1000, std::ssize(all) - before - sizes[b] / 3})));
    const size_t got = file.read_at(middle, chunks.offset(b) + sizes[b] / 3);
    require(got == middle.size() &&
                std::ranges::equal(middle,
                                   std::span(all).subspan(static_cast<size_t>(before + sizes[b] / 3), got)),
            "a range holds what reading from the begin finds there");
  }
}

}  // namespace

void fuzz_streams(std::span<const std::byte> input) {
  if (input.empty()) return;
  const auto options = static_cast<uint8_t>(input[0]);
  const Bytes stream =
      options & 2 ? make_stream(input.subspan(1), options & 4) : Bytes(input.begin() + 1, input.end());
  static const auto raw = std::make_shared<SpanFile>("m");
  raw->set(stream);
  const int64_t size = std::ssize(stream);
  const layout::ChunkGeometry chunks{0, std::max<int64_t>(1, size), std::max<int64_t>(1, size)};
  const MemoryBound bound(MemoryBound::for_files(size) + max_read);
  try {
    const auto file = std::make_shared<PlainFile>(raw, std::vector{StoredTask{0, chunks, (options & 1) != 0}},
                                                  [&](ReadStream& stored, size_t) {
                                                    stored.load(raw, chunks, {&size, 1}, {});
                                                  });
    require(file->stored(0).table.frames().size() * format::frame_head_size <= stream.size(),
            "no more frames than there is room for");
    ReadStream plain;
    plain.buffer().set_max(64 << 10);
    plain.load(file, file->geometry(0), file->sizes_of(0), {});
    Bytes all(static_cast<size_t>(std::min(file->sizes_of(0).total(), max_read)));
    require(plain.read(all) == all.size(), "as many bytes as the blocks have");
    read_ranges(*file, all);
  } catch (const Error& e) {
    require(e.what()[0] != '\0', "an error has a message");
  }
}

}  // namespace sheaf::fuzz
