// sfio/service/constants: the constants of src/sfio and its subdirectories, each with unit and
// reason.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sheaf::sfio {

// --- Names.
inline constexpr int64_t default_stripe_unit = 64 << 10;  // bytes
inline constexpr size_t max_subfiles = 4096;

// --- One message. Its data fit into the memory that a listener keeps for the next request.
inline constexpr int64_t default_room = 1 << 20;  // bytes of data that a listener accepts
inline constexpr int64_t direct_room = 4 << 20;   // likewise without messages: the bytes are not copied
inline constexpr int64_t head_room = 512 << 10;   // bytes for the head of a request, in addition to the data
// In the code of layout/extent_code an extent takes at most 16 bytes and a place in lent memory 32, because a
// message has less than 2^35 bytes of data.
inline constexpr int64_t max_extents = 16 << 10;
inline constexpr int64_t max_places = 4 << 10;
static_assert(max_extents * 16 + max_places * 32 < head_room);
static_assert(default_stripe_unit <= default_room && default_room <= direct_room);
// Minimum mean length of the extents of a request with lent memory, in bytes. Shorter extents are faster in
// one message than in a file request each.
inline constexpr int64_t min_lent_piece = 4 << 10;

// --- Requests in flight to one listener. A task that shares its core with a listener may not be scheduled
// for a while. With a limit of two requests, listeners on other cores ran out of work in that time
// (docs/api-sfio.md, "Measured").
inline constexpr size_t max_flights = 8;

// --- A listener.
// Maximum number of tasks with mapped memory; the oldest mapping is evicted first.
inline constexpr size_t max_borrowed = 16;
inline constexpr size_t max_spare_replies = 4;  // reused reply buffers: fresh pages cost more than a copy
// Seconds without a sign of life until a listener counts as dead.
inline constexpr double usual_timeout = 60;
inline constexpr double end_timeout = 5;  // seconds for clients to fetch the last answers
// Interval for answering liveness queries while a disk request runs.
inline constexpr std::chrono::milliseconds pulse_pause{50};
static_assert(end_timeout < usual_timeout && pulse_pause < std::chrono::seconds{1});

}  // namespace sheaf::sfio
