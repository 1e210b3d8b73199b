// storage/background/capture_copy: the copy of a program's bytes into captured memory.
#pragma once

#include <cstddef>
#include <span>

#include "storage/background/captured_sums.hpp"

namespace sheaf {

// Copies `from` to `to`, which has as many bytes, and adds it to `sums` unless that is null. Large copies
// bypass the caches of the processor.
void capture_bytes(std::span<std::byte> to, std::span<const std::byte> from, CapturedSums* sums);

}  // namespace sheaf
