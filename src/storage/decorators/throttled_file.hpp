// storage/decorators/throttled_file: a File that acquires a slot for each transfer (storage/write_slots.hpp).
#pragma once

#include <memory>

#include "storage/file.hpp"
#include "storage/write_slots.hpp"

namespace sheaf {

// Returns a File that performs every write and read of `file` in a slot of `slots`; `file` itself if `slots`
// is null.
std::shared_ptr<File> throttled(std::shared_ptr<File> file, std::shared_ptr<WriteSlots> slots);

}  // namespace sheaf
