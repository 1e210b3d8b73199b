#include "exchange/transfer/throttle.hpp"

#include "comm/agree.hpp"
#include "storage/store.hpp"

namespace sheaf::exchange {

std::shared_ptr<WriteSlots> share_slots(Comm& comm, Store& store, int32_t io_tasks) {
  if (io_tasks == 0) return nullptr;
  const auto node = comm.split_by_node();
  const bool leads = node->rank() == 0;
  std::shared_ptr<WriteSlots> slots;
  std::optional<Error> problem;
  if (node->size() > io_tasks) {
    std::string name;
    if (leads)
      problem = attempt([&] {
        slots = store.make_slots(io_tasks);
        name = slots->name();
      });
    int64_t length = std::ssize(name);
    node->broadcast(std::as_writable_bytes(std::span(&length, 1)), 0);
    name.resize(static_cast<size_t>(length));
    node->broadcast(std::as_writable_bytes(std::span(name)), 0);
    if (!leads && length > 0) problem = attempt([&] { slots = store.join_slots(name, io_tasks); });
  }
  const auto outcome = attempt([&] { agree(comm, problem); });
  if (leads && slots) slots->hide();
  if (outcome) throw *outcome;
  return slots;
}

}  // namespace sheaf::exchange
