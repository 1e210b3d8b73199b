#include "format/frame.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/crc32c.hpp"
#include "format/fields.hpp"

namespace sheaf::format {

namespace {

constexpr unsigned char frame_magic[4] = {'S', 'F', 'r', 'm'};
constexpr unsigned char index_magic[8] = {'S', 'F', 'r', 'm', 'I', 'd', 'x', '\n'};
constexpr auto index_code = std::byte{255};

constexpr size_t hash_at = 32;

// Lists the fields of a frame head. `code` is the codec, or index_code. `unused` stands for bytes that are
// zero.
template <class Head, class Code, class Unused>
auto frame_fields(Head& h, Code& code, Unused& unused) {
  return std::tie(code, h.shuffle, unused, h.stored, h.plain, h.at.block, h.sum, h.at.offset);
}

template <class Entry>
auto entry_fields(Entry& f) {
  return std::tie(f.stored, f.at.offset, f.at.block, f.used, f.size);
}

}  // namespace

std::array<std::byte, frame_head_size> encode(const FrameHead& h) {
  const std::byte code = h.kind == FrameHead::FrameKind::index ? index_code : static_cast<std::byte>(h.codec);
  constexpr uint16_t unused = 0;
  return encode_sealed<frame_head_size>(frame_magic, frame_fields(h, code, unused), hash_at);
}

std::optional<FrameHead> decode_frame(std::span<const std::byte, frame_head_size> bytes) {
  FrameHead h;
  std::byte code;
  uint16_t unused;
  if (!decode_sealed(bytes, frame_magic, frame_fields(h, code, unused), hash_at)) return std::nullopt;
  if (code == index_code) {
    if (h.stored != h.plain * uint64_t{index_entry_size} + uint64_t{index_end_size}) return std::nullopt;
    return FrameHead{.kind = FrameHead::FrameKind::index, .stored = h.stored, .plain = h.plain, .sum = h.sum};
  }
  h.codec = static_cast<Codec>(code);
  if (h.plain > largest_frame || h.stored > h.plain || (h.codec == Codec::none && h.stored != h.plain))
    return std::nullopt;
  if (h.at.block < 0 || h.at.offset < 0 || h.at.offset > INT64_MAX - int64_t{h.plain}) return std::nullopt;
  return h;
}

PlainPlace FrameTable::end() const {
  return frames_.empty()
             ? PlainPlace{}
             : PlainPlace{frames_.back().at.block, frames_.back().at.offset + frames_.back().used};
}

bool FrameTable::add(const FrameHead& head, int64_t stored) {
  const PlainPlace& at = head.at;
  if (!continues(at)) {
    if (at > end()) return false;
    // The new frame begins inside existing data, or at the start of an existing block.
    while (!frames_.empty() && frames_.back().at >= at) frames_.pop_back();
    if (!frames_.empty() && frames_.back().at.block == at.block)
      frames_.back().used =
          static_cast<uint32_t>(std::min<int64_t>(frames_.back().used, at.offset - frames_.back().at.offset));
    if (!continues(at)) return false;
  }
  frames_.push_back({stored, at, head.plain, static_cast<uint32_t>(head.size())});
  return true;
}

std::vector<int64_t> FrameTable::block_sizes() const {
  std::vector<int64_t> sizes(1);
  for (const Frame& f : frames_) {
    if (f.at.block >= std::ssize(sizes)) sizes.push_back(0);
    sizes.back() = f.at.offset + f.used;
  }
  return sizes;
}

size_t FrameTable::find(const PlainPlace& at) const {
  SHEAF_ASSERT(!frames_.empty() && at >= frames_.front().at && at < end());
  // If several frames have the same position, only the last contains bytes.
  return static_cast<size_t>(std::ranges::upper_bound(frames_, at, {}, &Frame::at) - frames_.begin()) - 1;
}

std::optional<std::vector<std::byte>> FrameTable::encode_index(int64_t stored) const {
  const uint64_t payload = frames_.size() * uint64_t{index_entry_size} + uint64_t{index_end_size};
  if (payload > UINT32_MAX - uint64_t{frame_head_size}) return std::nullopt;
  std::vector<std::byte> bytes(static_cast<size_t>(frame_head_size) + payload);
  std::byte* p = bytes.data() + frame_head_size;
  for (const Frame& f : frames_) {
    put_fields(p, entry_fields(f));
    p += index_entry_size;
  }
  std::memcpy(p, index_magic, sizeof index_magic);
  put_little<int64_t>(p + 8, stored);
  put_little<uint64_t>(p + 16, frames_.size());
  put_little<uint64_t>(p + 24, hash_of({p, 24}));
  const FrameHead head{.kind = FrameHead::FrameKind::index,
                       .stored = static_cast<uint32_t>(payload),
                       .plain = static_cast<uint32_t>(frames_.size()),
                       .sum = crc32c(0, std::span(bytes).subspan(frame_head_size))};
  std::ranges::copy(encode(head), bytes.begin());
  return bytes;
}

std::optional<int64_t> decode_index_end(std::span<const std::byte, index_end_size> bytes,
                                        int64_t stream_size) {
  const std::byte* const p = bytes.data();
  if (std::memcmp(p, index_magic, sizeof index_magic) != 0 ||
      get_little<uint64_t>(p + 24) != hash_of({p, 24}))
    return std::nullopt;
  const auto begin = get_little<int64_t>(p + 8);
  if (begin < 0 || begin > stream_size - frame_head_size - index_end_size) return std::nullopt;
  return begin;
}

IndexDecoder::IndexDecoder(std::span<const std::byte, frame_head_size> bytes, int64_t stored)
    : stored_(stored) {
  const auto head = decode_frame(bytes);
  if (!head || head->kind != FrameHead::FrameKind::index) return;
  good_ = true;
  left_ = head->stored;
  expected_ = head->sum;
}

void IndexDecoder::add(std::span<const std::byte> bytes, std::vector<Frame>& frames) {
  SHEAF_ASSERT(std::ssize(bytes) <= left_ && std::ssize(bytes) % index_entry_size == 0);
  sum_ = crc32c(sum_, bytes);
  for (; good_ && !bytes.empty() && left_ > index_end_size; bytes = bytes.subspan(index_entry_size)) {
    Frame f;
    get_fields(bytes.data(), entry_fields(f));
    good_ = f.stored >= least_ && f.size >= frame_head_size && f.size <= frame_head_size + largest_frame &&
            f.size <= stored_ && f.stored <= stored_ - int64_t{f.size} && f.used <= largest_frame &&
            f.at.offset >= 0 && f.at.offset <= INT64_MAX - int64_t{f.used} && continues(f.at, end_, first_);
    if (!good_) return;
    least_ = f.stored + f.size;
    end_ = {f.at.block, f.at.offset + f.used};
    first_ = false;
    left_ -= index_entry_size;
    frames.push_back(f);
  }
  left_ -= std::ssize(bytes);
}

}  // namespace sheaf::format
