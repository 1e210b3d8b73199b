#include "multifile/saves/listing.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include "comm/agree.hpp"
#include "format/commit_record.hpp"
#include "multifile/journal/lease.hpp"
#include "multifile/saves/host_record.hpp"
#include "multifile/saves/save_files.hpp"
#include "storage/store.hpp"

namespace sheaf::saves {

namespace {

using format::SaveProgress;

double seconds_since(int64_t microseconds) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const double age = std::chrono::duration<double>(now).count() - static_cast<double>(microseconds) * 1e-6;
  return std::max(age, 0.0);
}

// What the records of a save say together.
struct RecordedState {
  bool is_synced = true, is_written = true;  // on all hosts
  bool is_missing = false;                   // a record is missing or damaged
};

RecordedState read_records(Store& store, SaveEntry& entry) {
  RecordedState state;
  entry.hosts = 1;
  for (int32_t h = 0; h < entry.hosts; ++h) {
    std::optional<format::SaveRecord> record;
    attempt([&] { record = read_record(store, format::save_record_name(entry.temporary, h)); });
    if (!record) {
      state.is_missing = true;
      continue;
    }
    entry.hosts = record->head.hosts;
    if (h == 0) entry.age = seconds_since(record->head.since);
    entry.tasks += record->head.tasks;
    for (const format::SaveSlot& slot : record->tasks) {
      entry.bytes += slot.bytes;
      entry.written += slot.written;
    }
    state.is_synced &= all_reached(*record, SaveProgress::synced);
    state.is_written &= all_reached(*record, SaveProgress::written);
    if (const auto failed = failure_in(*record, entry.name); failed && entry.error.empty())
      entry.error = failed->what();
  }
  return state;
}

bool has_living_job(Store& store, const std::string& path) {
  const multifile::LeaseView lease = multifile::look_at_lease(store, path);
  return lease.holder != multifile::Holder::none;
}

}  // namespace

const char* name_of(ListedState state) {
  static constexpr const char* names[] = {"writing", "captured", "local", "failed", "complete", "lost"};
  return names[static_cast<size_t>(state)];
}

std::vector<SaveEntry> list_saves(Store& store, const std::string& directory) {
  const std::string front = directory.empty() || directory.ends_with('/') ? directory : directory + "/";
  const std::vector<std::string> names = store.names_in(directory);
  const std::set<std::string> present(names.begin(), names.end());
  bool is_local = false;  // only this host can access the file system
  attempt([&] { is_local = store.traits(directory.empty() ? "." : directory).is_local(); });
  std::vector<SaveEntry> closed, open;
  for (const std::string& name : names) {
    constexpr std::string_view end = ".save.000000";
    const bool is_record = name.ends_with(end);
    const std::string temporary = is_record ? name.substr(0, name.size() - end.size()) : name;
    const auto parsed = format::parse_temporary_name(temporary);
    if (!parsed || (!is_record && present.contains(temporary + std::string(end)))) continue;
    SaveEntry entry{.name = front + parsed->target, .temporary = front + temporary};
    const bool lives = has_living_job(store, entry.name);
    if (!is_record) {
      entry.state = ListedState::writing;
      if (lives) open.push_back(std::move(entry));
      continue;
    }
    const RecordedState found = read_records(store, entry);
    entry.state = !entry.error.empty()                               ? ListedState::failed
                  : !lives && found.is_synced && !found.is_missing   ? ListedState::complete
                  : !lives                                           ? ListedState::lost
                  : found.is_written && entry.hosts == 1 && is_local ? ListedState::local
                                                                     : ListedState::captured;
    closed.push_back(std::move(entry));
  }
  std::ranges::sort(closed, std::ranges::greater{}, &SaveEntry::age);
  closed.insert(closed.end(), open.begin(), open.end());
  return closed;
}

}  // namespace sheaf::saves
