#include "multifile/saves/host_watch.hpp"

#include <string>
#include <utility>
#include <vector>

#include "multifile/saves/host_record.hpp"

namespace sheaf::saves {

using format::SaveProgress;
using format::SaveRecord;
using format::SaveSlot;

namespace {

// Returns the slots of the tasks that are not synced yet. The others do not change any more, except that of
// the lead.
std::vector<SaveSlot> working(const SaveRecord& record) {
  std::vector<SaveSlot> slots;
  for (const SaveSlot& slot : record.tasks)
    if (slot.state < SaveProgress::synced) slots.push_back(slot);
  return slots;
}

}  // namespace

SaveRecord HostWatch::own_record() const {
  auto record = read_record(*terms_.store, terms_.record(terms_.host));
  if (!record) throw Error(Code::foreign, "its record was removed");
  return std::move(*record);
}

void HostWatch::require_alive(const SaveRecord& record) {
  if (!awaited_.is_alive(terms_.host, working(record)))
    throw Error(Code::io, "a task of this host has stopped");
}

bool HostWatch::are_ready(const std::function<bool(const SaveRecord&)>& is_ready) {
  for (; next_host_ < terms_.hosts; ++next_host_) {
    const auto record = read_record(*terms_.store, terms_.record(next_host_));
    if (!record) throw Error(Code::foreign, "the record of a host was removed");
    if (const auto failed = failure_in(*record, terms_.path)) throw *failed;
    if (is_ready(*record)) continue;
    if (!awaited_.is_alive(next_host_, working(*record)))
      throw Error(Code::io, "host " + std::to_string(next_host_) + " of the job has stopped");
    return false;
  }
  next_host_ = 0;
  return true;
}

}  // namespace sheaf::saves
