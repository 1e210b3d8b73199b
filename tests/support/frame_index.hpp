// support/frame_index: an index of frames held in memory as a whole.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "format/frame.hpp"

namespace sheaf::format {

// Decodes `bytes`, a whole frame that encode_index() produced. Returns nullopt if the frame is damaged or
// inconsistent.
inline std::optional<FrameTable> decode_index(std::span<const std::byte> bytes, int64_t stored) {
  if (std::ssize(bytes) < frame_head_size + index_end_size) return std::nullopt;
  IndexDecoder decoder(bytes.first<frame_head_size>(), stored);
  const auto rest = bytes.subspan(frame_head_size);
  if (!decoder.good() || decoder.bytes_left() != std::ssize(rest)) return std::nullopt;
  std::vector<Frame> frames;
  decoder.add(rest, frames);
  if (!decoder.is_whole()) return std::nullopt;
  return FrameTable(std::move(frames));
}

}  // namespace sheaf::format
