// exchange/transfer/throttle: no more than so many tasks of a node transfer at once (open mode and hint
// iotasks=K).
#pragma once

#include <memory>

#include "comm/comm.hpp"
#include "storage/decorators/throttled_file.hpp"
#include "storage/file.hpp"

namespace sheaf {

// Collective over `comm`; throws on every task alike. The slots that the tasks of a node share; null where
// io_tasks is 0 (no limit) or no smaller than the number of tasks of the node. Two broadcasts within the node
// and a reduction over all; nothing if io_tasks is 0.
std::shared_ptr<WriteSlots> share_slots(Comm& comm, Store& store, int32_t io_tasks);

}  // namespace sheaf
