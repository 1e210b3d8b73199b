// base/stream_copy: a copy to memory that is not used again soon.
#pragma once

#include <cstddef>
#include <span>

namespace sheaf {

// As memcpy, but what is written is not brought into the caches, which keep what they hold, and is not read from memory first.
// Pays where copies_past_caches(), on machines that store whole lines (AVX-512); elsewhere it is memcpy.
void copy_past_caches(std::byte* to, std::span<const std::byte> from);
bool copies_past_caches();

}  // namespace sheaf
