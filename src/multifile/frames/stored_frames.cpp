#include "multifile/frames/stored_frames.hpp"

#include <algorithm>
#include <array>

#include "base/bytes.hpp"
#include "multifile/frames/constants.hpp"

namespace sheaf::multifile {

using format::Frame;
using format::frame_head_size;

namespace {

using namespace frame_constants;

std::string place_of(const ReadStream& stored, const StoredTask& task, int64_t offset) {
  return "task " + std::to_string(task.task) + " of '" + stored.blocks().file().path() + "': at offset " +
         std::to_string(offset) + " of its stored bytes";
}

[[noreturn]] void damaged(const ReadStream& stored, const StoredTask& task, int64_t offset,
                          const std::string& finding) {
  throw Error(Code::damaged, place_of(stored, task, offset) + " " + finding);
}

// Seeks like seek_absolute(), but without a pass over all preceding blocks.
bool go_to(ReadStream& stored, const StreamPlaces& places, int64_t offset) {
  if (offset >= places.total()) return stored.seek_absolute(offset);
  const StreamPosition at = places.find(stored.sizes(), offset);
  return stored.seek_block(at.block, at.offset);
}

// Visits the frames of the index in portions. Returns false if there is no valid index; the caller must then
// discard the visited frames.
bool read_index(ReadStream& stored, const StreamPlaces& places,
                const std::function<void(std::span<const Frame>)>& visit) {
  const int64_t total = places.total();
  std::array<std::byte, format::index_end_size> end;
  if (total < frame_head_size + format::index_end_size) return false;
  if (!go_to(stored, places, total - format::index_end_size) || stored.read(end) < end.size()) return false;
  const auto begin = format::decode_index_end(end, total);
  std::array<std::byte, frame_head_size> head;
  if (!begin || !go_to(stored, places, *begin) || stored.read(head) < head.size()) return false;
  format::IndexDecoder index(head, *begin);
  if (index.bytes_left() != total - *begin - frame_head_size) return false;
  std::vector<std::byte> bytes;
  std::vector<Frame> frames;
  while (index.good() && index.bytes_left() > 0) {
    bytes.resize(static_cast<size_t>(std::min(index_at_once, index.bytes_left())));
    if (!go_to(stored, places, total - index.bytes_left()) || stored.read(bytes) < bytes.size()) return false;
    frames.clear();
    index.add(bytes, frames);
    visit(frames);
  }
  return index.is_whole();
}

// Reads the frames from head to head, and adds them to `table`. Calls visit() after each frame. Returns the
// number of stored bytes of whole frames.
template <class Visit>
int64_t walk(ReadStream& stored, const StreamPlaces& places, const StoredTask& task,
             format::FrameTable& table, Visit&& visit) {
  const int64_t total = places.total();
  int64_t at = 0;
  while (at < total) {
    std::array<std::byte, frame_head_size> bytes{};
    go_to(stored, places, at);
    const size_t there = stored.read(bytes);
    // If the program was killed, the stream may end with zeros or be cut off inside a frame head.
    const bool cut = there < bytes.size();
    if (task.unclosed && (cut || is_zero(bytes))) return at;
    const auto head = cut ? std::nullopt : format::decode_frame(bytes);
    if (!head) damaged(stored, task, at, "there is no frame");
    if (task.unclosed && head->size() > total - at) return at;
    if (head->size() > total - at)
      damaged(stored, task, at, "the frame of " + std::to_string(head->size()) + " bytes is cut off");
    if (head->kind == format::FrameHead::FrameKind::data && !table.add(*head, at))
      damaged(stored, task, at,
              "the frame of offset " + std::to_string(head->at.offset) + " in block " +
                  std::to_string(head->at.block) + " does not follow the one before");
    at += head->size();
    visit();
  }
  return at;
}

}  // namespace

StoredFrames read_frames(ReadStream& stored, const StoredTask& task) {
  const StreamPlaces places(stored.sizes());
  std::vector<Frame> indexed;
  const bool found = read_index(stored, places, [&](std::span<const Frame> some) {
    indexed.insert(indexed.end(), some.begin(), some.end());
  });
  if (found) return {format::FrameTable(std::move(indexed)), true, places.total()};
  StoredFrames frames;
  frames.stored_bytes = walk(stored, places, task, frames.table, [] {});
  return frames;
}

void for_each_frame(ReadStream& stored, const StoredTask& task,
                    const std::function<void(const Frame&)>& visit) {
  const StreamPlaces places(stored.sizes());
  if (read_index(stored, places, [](std::span<const Frame>) {})) {
    read_index(stored, places, [&](std::span<const Frame> some) { std::ranges::for_each(some, visit); });
    return;
  }
  format::FrameTable table;
  const auto pass_on = [&](size_t count) {
    std::ranges::for_each(std::span(table.frames()).first(count), visit);
    table.forget_first(count);
  };
  walk(stored, places, task, table, [&] {
    if (table.frames().size() == max_frames_held) pass_on(max_frames_held / 2);
  });
  pass_on(table.frames().size());
}

const format::FrameHead& FrameReader::read(ReadStream& stored, const StreamPlaces& places,
                                           const StoredTask& task, const Frame& frame) {
  const std::span<std::byte> bytes = stored_.at_least(frame.size);
  go_to(stored, places, frame.stored);
  if (stored.read(bytes) < bytes.size()) damaged(stored, task, frame.stored, "the frame is cut off");
  const auto head = format::decode_frame(bytes.first<frame_head_size>());
  if (!head || head->kind != format::FrameHead::FrameKind::data || head->size() != frame.size ||
      head->plain < frame.used || head->at != frame.at)
    damaged(stored, task, frame.stored, "there is not the frame that the index has");
  head_ = *head;
  bytes_ = bytes.subspan(frame_head_size);
  where_ = place_of(stored, task, frame.stored) + ", block " + std::to_string(head_.at.block) + " offset " +
           std::to_string(head_.at.offset) + ": the frame";
  return head_;
}

}  // namespace sheaf::multifile
