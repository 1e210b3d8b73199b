// mutate: changes of packed files that know the positions of a multifile's numbers. Random bytes alone rarely
// pass the consistency checks between numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sheaf::fuzz {

// Changes one to four numbers of the packed files in the first `size` bytes of `room`. In half of the cases
// it moves the block table to its consistent position. In most cases it updates the checksums afterwards
// (reseal.hpp). Returns the new size, at most room.size().
size_t mutate_packed(std::span<std::byte> room, size_t size, uint64_t seed);

}  // namespace sheaf::fuzz
