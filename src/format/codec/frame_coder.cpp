#include "format/codec/frame_coder.hpp"

#include <algorithm>
#include <string>

#include "base/crc32c.hpp"
#include "base/error.hpp"
#include "format/codec/shuffle.hpp"

namespace sheaf::codec {

std::span<const std::byte> FrameEncoder::encode(const format::PlainPlace& at,
                                                std::span<const std::byte> plain, Scratch& out) {
  constexpr auto head_bytes = static_cast<size_t>(format::frame_head_size);
  format::FrameHead head{.plain = static_cast<uint32_t>(plain.size()), .sum = crc32c(0, plain), .at = at};
  const std::span<std::byte> memory = out.at_least(head_bytes + bound(how_.codec, plain.size()));
  const std::span<std::byte> room = memory.subspan(head_bytes);

  std::span<const std::byte> input = plain;
  if (how_.shuffle > 1 && plain.size() >= how_.shuffle) {
    const auto shuffled = shuffled_.at_least(plain.size());
    shuffle(plain, how_.shuffle, shuffled);
    input = shuffled;
    head.shuffle = how_.shuffle;
  }
  const size_t stored = compressor_.compress(input, room);
  if (stored > 0 && stored < plain.size()) {
    head.codec = how_.codec;
    head.stored = static_cast<uint32_t>(stored);
  } else {
    head.shuffle = 0;
    head.stored = head.plain;
    std::ranges::copy(plain, room.begin());
  }
  std::ranges::copy(format::encode(head), memory.begin());
  return memory.first(head_bytes + head.stored);
}

void FrameDecoder::decode(const format::FrameHead& head, std::span<const std::byte> stored,
                          std::span<std::byte> out, std::string_view where) {
  const auto refuse = [&](Code code, const std::string& finding) {
    throw Error(code, std::string(where) + ": " + finding);
  };
  const bool shuffled = head.shuffle > 1;
  const std::span<std::byte> target = shuffled ? shuffled_.at_least(out.size()) : out;
  if (head.codec == Codec::none) {
    std::ranges::copy(stored.first(target.size()), target.begin());
  } else {
    if (const std::string problem = problem_with(head.codec); !problem.empty())
      refuse(Code::unsupported, problem);
    if (!decompressor_.decompress(head.codec, stored, target))
      refuse(Code::damaged, "cannot be decompressed");
  }
  if (shuffled) unshuffle(target, head.shuffle, out);
  if (crc32c(0, out) != head.sum) refuse(Code::damaged, "does not match its checksum");
}

}  // namespace sheaf::codec
