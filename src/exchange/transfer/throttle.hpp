// exchange/transfer/throttle: a limit on the tasks of a host that transfer at once (open option and hint
// iotasks=K).
#pragma once

#include <memory>

#include "comm/comm.hpp"
#include "storage/decorators/throttled_file.hpp"
#include "storage/file.hpp"

namespace sheaf {

// Collective over `comm`; throws on every task alike. Returns the slots that the tasks of a host share.
// Returns null if io_tasks is 0 (no limit) or at least the number of tasks on the host. Costs two broadcasts
// within the host and a reduction over all tasks, or nothing if io_tasks is 0.
std::shared_ptr<WriteSlots> share_slots(Comm& comm, Store& store, int32_t io_tasks);

}  // namespace sheaf
