// stripedfile/service/constants: the numbers that src/stripedfile and the rooms in it go by, each with its
// unit and its reason.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sheaf {

// --- Names.
inline constexpr int64_t default_stripe_unit = 64 << 10;  // bytes
inline constexpr size_t most_subfiles = 4096;

}  // namespace sheaf

namespace sheaf::sfio {

// --- One message. Data of it fit into the memory that a listener keeps for the next request.
inline constexpr int64_t default_room = 1 << 20;   // bytes of data that a listener takes
inline constexpr int64_t direct_room = 4 << 20;    // the same without messages: the bytes stay where they are
inline constexpr int64_t head_room = 512 << 10;    // bytes for the head of a request beside the data
inline constexpr int64_t most_extents = 16 << 10;  // of 16 bytes
inline constexpr int64_t most_places = 4 << 10;    // of 32 bytes, of lent memory
static_assert(most_extents * 16 + most_places * 32 < head_room);
static_assert(default_stripe_unit <= default_room && default_room <= direct_room);
// Smaller pieces, on average, are faster in one message than one by one in a request to the file.
inline constexpr int64_t least_lent_piece = 4 << 10;

// --- Requests. Under way to one listener: a task that shares its core with a listener may not come to send
// for a while, and with two, listeners on other cores ran out of work (docs/api-sfio.md, "Measured").
inline constexpr size_t most_flights = 8;

// --- A listener.
inline constexpr size_t most_borrowed = 16;  // tasks whose memory stays mapped; the oldest goes first
inline constexpr size_t most_spare_replies =
    4;                                        // whose memory serves again: fresh pages cost more than a copy
inline constexpr double usual_patience = 60;  // seconds without a sign of life after which it is gone
inline constexpr double patience_at_end = 5;  // seconds for last answers to be fetched
// Between two looks for who asks whether it lives, while a disk works.
inline constexpr std::chrono::milliseconds pulse_pause{50};
static_assert(patience_at_end < usual_patience && pulse_pause < std::chrono::seconds{1});

}  // namespace sheaf::sfio
