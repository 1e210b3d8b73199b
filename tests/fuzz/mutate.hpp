// mutate: changes of packed files that know where the numbers of a multifile are. Random bytes alone rarely
// get past the checks that numbers must fit each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sheaf::fuzz {

// Changes one to four numbers of the packed files in the first `size` bytes of `room`, and in half of the
// cases moves the block table to where they say it should be. Mostly, checksums are right again afterwards
// (reseal.hpp). Returns the new size, at most room.size().
size_t mutate_packed(std::span<std::byte> room, size_t size, uint64_t seed);

}  // namespace sheaf::fuzz
