#include "multifile/frames/captured_frames.hpp"

#include <utility>

#include "base/assert.hpp"
#include "storage/background/capture_copy.hpp"
#include "storage/background/constants.hpp"

namespace sheaf::multifile {

format::PlainPlace CapturedFrames::end() const {
  SHEAF_ASSERT(!empty());
  const Captured& last = pieces_.back().frames.back();
  return {last.at.block, last.at.offset + std::ssize(last.plain)};
}

bool CapturedFrames::add(const FrameCapture& to, const format::PlainPlace& at,
                         std::span<const std::byte> plain) {
  if (plain.size() > background_constants::piece) return false;
  const bool fits = !pieces_.empty() && pieces_.back().piece->rest().size() >= plain.size();
  if (!fits) {
    auto piece = to.memory.acquire(to.batch->budget());
    if (!piece) return false;
    FramesOfPiece added{std::move(piece)};
    added.frames.push_back({at, added.piece->rest().first(plain.size())});
    pieces_.push_back(std::move(added));
  } else {
    pieces_.back().frames.push_back({at, pieces_.back().piece->rest().first(plain.size())});
  }
  CapturePiece& piece = *pieces_.back().piece;
  capture_bytes(piece.rest().first(plain.size()), plain, nullptr);
  piece.filled += plain.size();
  bytes_ += std::ssize(plain);
  ++frames_;
  to.batch->count_captured(std::ssize(plain));
  return true;
}

void CapturedFrames::pop() {
  SHEAF_ASSERT(!empty());
  FramesOfPiece& first = pieces_.front();
  bytes_ -= std::ssize(first.frames.front().plain);
  --frames_;
  first.frames.pop_front();
  if (first.frames.empty()) pieces_.pop_front();
}

}  // namespace sheaf::multifile
