// exchange/transfer/throttle: limits the number of tasks of a host that transfer at once (open option and
// hint iotasks=K).
#pragma once

#include <memory>

#include "comm/comm.hpp"
#include "storage/decorators/throttled_file.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

// Returns the slots that the tasks of a host share, or null if io_tasks is 0 (no limit) or at least the
// number of tasks on the host. Collective over `comm`. If a task fails, all tasks throw. Costs two broadcasts
// within the host and a reduction over all tasks, or nothing if io_tasks is 0.
std::shared_ptr<WriteSlots> share_slots(Comm& comm, Store& store, int32_t io_tasks);

}  // namespace sheaf::exchange
