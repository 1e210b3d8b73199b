// multifile/create/constants: limits for creating files, each with its reason. In bytes unless stated
// otherwise. Limits that callers must know are declared with the calls (new_file.hpp, work_progress.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "multifile/create/work_progress.hpp"

namespace sheaf::multifile::creation_constants {

// --- Copying. Holes are searched only in extents of at least smallest_hole bytes, because a search takes two
// system calls.
inline constexpr int64_t smallest_hole = 16 << 10;
inline constexpr int64_t copy_buffer = 512 << 10;  // adjacent small extents are written together
static_assert(smallest_hole < copy_buffer && copy_buffer <= WorkProgress::piece_bytes);
inline constexpr int64_t max_threads = 4;  // threads that copy at a time; more would wait for the storage

// --- Tables of physical files (files=@TABLE): a text that is longer than these allow is rejected.
inline constexpr int64_t max_comments = 1 << 20;
inline constexpr int64_t max_comments_per_task = 32;

// --- Names. Maximum number of existing temporary files, left by other programs, that are skipped. Beyond
// that, creating an output fails.
inline constexpr int max_suffixes = 100;
inline constexpr size_t random_digits = 16;  // hexadecimal; 64 bits avoid collisions

}  // namespace sheaf::multifile::creation_constants
