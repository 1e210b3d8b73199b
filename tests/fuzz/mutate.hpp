// mutate: changes numbers of the multifiles in packed files. Random changes of bytes rarely pass the readers'
// checks of consistency between numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sheaf::fuzz {

// Changes one to four numbers of the packed files in the first `size` bytes of `room`. In half of the calls,
// then moves the block table to the position that follows from the chunk sizes. In most calls, finally
// corrects the checksums (reseal.hpp). Returns the new size, at most room.size().
size_t mutate_packed(std::span<std::byte> room, size_t size, uint64_t seed);

}  // namespace sheaf::fuzz
