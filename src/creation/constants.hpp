// creation/constants: the numbers that making files goes by, in bytes where nothing else is said, each with
// its reason. What a caller must know stands with the call (new_file.hpp, work_progress.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "creation/work_progress.hpp"

namespace sheaf::creation_constants {

// --- Copying. Looking for holes costs two system calls: not worth it for less.
inline constexpr int64_t smallest_hole = 16 << 10;
inline constexpr int64_t copy_buffer = 512 << 10;  // small pieces that lie side by side go out together
static_assert(smallest_hole < copy_buffer && copy_buffer <= WorkProgress::piece_bytes);
inline constexpr int64_t most_threads = 4;  // that copy at a time: more wait for the storage

// --- Tables of physical files (files=@TABLE): a longer text is none.
inline constexpr int64_t most_comments = 1 << 20;
inline constexpr int64_t most_comments_per_task = 32;

// --- Names. Of temporary files that others have left behind so many are passed over.
inline constexpr int most_suffixes = 100;
inline constexpr size_t random_digits = 16;  // of 64 bits, hexadecimal: nobody has the same by chance

}  // namespace sheaf::creation_constants
