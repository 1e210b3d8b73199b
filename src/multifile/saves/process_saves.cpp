#include "multifile/saves/process_saves.hpp"

#include <algorithm>
#include <atomic>
#include <ranges>

namespace sheaf::saves {

ProcessSaves& ProcessSaves::here() {
  static std::atomic<ProcessSaves*> current = nullptr;
  ProcessSaves* found = current.load(std::memory_order_acquire);
  while (!found || found->process_ != forks()) {
    // The object of the parent stays allocated: its locks may be held by threads that do not exist here.
    auto* const made = new ProcessSaves;
    if (current.compare_exchange_strong(found, made, std::memory_order_acq_rel)) return *made;
    delete made;
  }
  return *found;
}

void ProcessSaves::add(std::shared_ptr<SavePart> part) {
  std::vector<std::shared_ptr<SavePart>> removed;  // destroyed without the lock
  for (const auto& earlier : all())
    if (earlier->has_ended() && earlier->look() == SaveState::durable) removed.push_back(earlier);
  const std::lock_guard lock(mutex_);
  const auto is_previous = [&](const auto& earlier) {
    return earlier->path() == part->path() && earlier->leads() == part->leads();
  };
  const auto newest_first = parts_ | std::views::reverse;
  if (const auto previous = std::ranges::find_if(newest_first, is_previous); previous != newest_first.end())
    (*previous)->set_next(part);
  std::erase_if(parts_, [&](const auto& earlier) { return std::ranges::count(removed, earlier) > 0; });
  parts_.push_back(std::move(part));
}

std::shared_ptr<SavePart> ProcessSaves::newest(const std::string& place) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<SavePart> found;
  for (const auto& part : parts_ | std::views::reverse)
    if (part->terms().store->place_of(part->path()) == place &&
        (!found || (part->leads() && !found->leads())))
      found = part;
  return found;
}

void ProcessSaves::forget_ended(const std::string& place) {
  std::vector<std::shared_ptr<SavePart>> removed;
  for (const auto& part : all()) {
    if (!part->has_ended() || part->terms().store->place_of(part->path()) != place) continue;
    const SaveState state = part->look();
    if (state == SaveState::durable || part->is_told()) removed.push_back(part);
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(parts_, [&](const auto& part) { return std::ranges::count(removed, part) > 0; });
}

void ProcessSaves::forget_durable(SavePart& part) {
  if (part.leads() && part.look() == SaveState::durable) forget(part);
}

void ProcessSaves::forget(const SavePart& part) {
  const std::lock_guard lock(mutex_);
  std::erase_if(parts_, [&](const auto& each) { return each.get() == &part; });  // its step owns it, too
}

std::vector<std::shared_ptr<SavePart>> ProcessSaves::all() {
  const std::lock_guard lock(mutex_);
  return parts_;
}

ProcessSaves::SharedBudget ProcessSaves::last_budget() {
  const std::lock_guard lock(mutex_);
  auto budget = budget_.lock();
  return budget ? SharedBudget{std::move(budget), budget_id_} : SharedBudget{};
}

void ProcessSaves::set_last_budget(const SharedBudget& budget) {
  const std::lock_guard lock(mutex_);
  budget_ = budget.budget;
  budget_id_ = budget.id;
}

}  // namespace sheaf::saves
