// multifile/frames/constants: numeric parameters of compressed streams with their reasons, in bytes unless
// noted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::multifile::frame_constants {

inline constexpr int64_t plain_buffer = 64 << 10;  // collects small records for a frame
inline constexpr int64_t max_parked = 64 << 20;    // bytes held in memory for tasks that are not current
inline constexpr size_t few_frames = 2;  // frames; up to this many are found as fast without an index
inline constexpr int64_t stored_buffer = 4 << 10;   // buffer of a stored stream; whole frames bypass it
inline constexpr int64_t index_at_once = 1 << 20;   // bytes of an index read at a time
inline constexpr size_t max_frames_held = 1 << 19;  // frames in memory at a time
static_assert(plain_buffer < max_parked && stored_buffer < plain_buffer);

}  // namespace sheaf::multifile::frame_constants
