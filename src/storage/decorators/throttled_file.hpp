// storage/decorators/throttled_file: a File whose transfers wait for a slot (storage/write_slots.hpp).
#pragma once

#include <memory>

#include "storage/file.hpp"
#include "storage/write_slots.hpp"

namespace sheaf {

// `file` with every write and every read in a slot of `slots`; `file` itself if there are none (null).
std::shared_ptr<File> throttled(std::shared_ptr<File> file, std::shared_ptr<WriteSlots> slots);

}  // namespace sheaf
