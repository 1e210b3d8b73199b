#include "multifile/saves/save_files.hpp"

#include <algorithm>
#include <set>

#include "comm/agree.hpp"
#include "format/commit_record.hpp"
#include "multifile/create/commit.hpp"
#include "multifile/saves/host_record.hpp"
#include "storage/store.hpp"

namespace sheaf::saves {

using format::SaveProgress;
using format::SaveRecord;
using format::SaveSlot;

bool all_reached(const SaveRecord& record, SaveProgress state) {
  return std::ranges::all_of(record.tasks, [&](const SaveSlot& slot) {
    return slot.state >= state && slot.state != SaveProgress::failed;
  });
}

std::optional<Error> failure_in(const SaveRecord& record, const std::string& path) {
  const auto as_error = [&](const SaveSlot& slot) {
    const auto code = slot.code == 0 ? Code::io : static_cast<Code>(slot.code);
    const std::string who = slot.task >= 0 ? "task " + std::to_string(slot.task) + ": " : std::string();
    return Error(code, "the save of '" + path + "' has failed: " + who + slot.message, slot.errno_value,
                 slot.task);
  };
  if (record.host.state == SaveProgress::failed) return as_error(record.host);
  for (const SaveSlot& slot : record.tasks)
    if (slot.state == SaveProgress::failed) return as_error(slot);
  return std::nullopt;
}

void complete_files(Store& store, const std::string& temporary,
                    const std::vector<format::CompletionMark>& marks) {
  for (const format::CompletionMark& mark : marks) {
    const auto file = store.open(format::physical_name(temporary, mark.file), Access::write);
    file->write_at(mark.pointer, mark.at);
    file->sync();
    file->close();
  }
}

std::optional<format::Identity> identity_under(Store& store, const std::string& path) {
  std::optional<format::Identity> found;
  const auto problem = attempt([&] {
    const auto file = store.open(path, Access::read);
    const auto record = multifile::read_commit_record(*file);
    found = record ? record->identity : multifile::read_identity(*file).value_or(format::Identity{});
  });
  if (problem && problem->code() == Code::not_found) return format::Identity{};
  return found;
}

bool has_begun_commit(Store& store, const CommitNames& names) {
  return identity_under(store, names.path) == names.identity;
}

void commit_save(Store& store, const CommitNames& names) {
  const bool is_renamed = !store.status(names.temporary).exists && has_begun_commit(store, names);
  if (is_renamed) return store.sync_name(store.target_of(names.path));
  multifile::commit_set(store, names.temporary, names.path, names.nfiles, true);
}

void remove_records(Store& store, const std::string& temporary, int32_t hosts) {
  for (int32_t h = hosts - 1; h >= 0; --h)
    attempt([&] { store.remove(format::save_record_name(temporary, h)); });
}

void remove_save(Store& store, const std::string& temporary, int32_t nfiles, int32_t hosts) {
  for (int32_t k = nfiles - 1; k >= 0; --k)
    attempt([&] { store.remove(format::physical_name(temporary, k)); });
  remove_records(store, temporary, hosts);
}

namespace {

// Returns the records of all hosts of a save; none if one is missing or damaged. Throws if one cannot be
// read: the save may be whole.
std::vector<SaveRecord> records_of_save(Store& store, const std::string& temporary) {
  std::vector<SaveRecord> records;
  int32_t hosts = 1;
  for (int32_t h = 0; h < hosts; ++h) {
    std::optional<SaveRecord> record;
    const auto problem =
        attempt([&] { record = read_record(store, format::save_record_name(temporary, h)); });
    if (problem && problem->code() != Code::damaged) throw *problem;
    if (!record) return {};
    hosts = record->head.hosts;
    records.push_back(std::move(*record));
  }
  return records;
}

// Returns true if the save is on disk as a whole.
bool is_whole(const std::vector<SaveRecord>& records) {
  return !records.empty() && std::ranges::all_of(records, [](const SaveRecord& record) {
    return record.host.state != SaveProgress::failed && all_reached(record, SaveProgress::synced);
  });
}

}  // namespace

std::vector<std::string> saves_beside(Store& store, const std::string& path) {
  const std::string target = store.target_of(path);
  const size_t slash = target.rfind('/');
  const std::string front = slash == std::string::npos ? "" : target.substr(0, slash + 1);
  const std::string base = target.substr(front.size());
  std::set<std::string> found;
  for (const std::string& name : store.names_in(front.size() > 1 ? front.substr(0, slash) : front)) {
    const size_t end = name.rfind(".save.");
    if (end == std::string::npos) continue;
    const auto parsed = format::parse_temporary_name(name.substr(0, end));
    if (parsed && parsed->target == base) found.insert(front + name.substr(0, end));
  }
  return {found.begin(), found.end()};
}

namespace {

// A save that an ended job has left.
struct LeftSave {
  std::string temporary;
  std::vector<SaveRecord> records;  // empty if one is missing
  int64_t since() const { return records.empty() ? 0 : records.front().head.since; }
  int32_t nfiles() const { return records.empty() ? 1 : records.front().head.nfiles; }
  int32_t hosts() const { return records.empty() ? 1 : records.front().head.hosts; }
};

// Removes a save that is not whole, also if records are missing.
void remove_lost(Store& store, const LeftSave& save) {
  remove_save(store, save.temporary, save.nfiles(), save.hosts());
  if (!save.records.empty()) return;
  const size_t slash = save.temporary.rfind('/');
  const std::string front = slash == std::string::npos ? "" : save.temporary.substr(0, slash + 1);
  const std::string base = save.temporary.substr(front.size()) + ".";
  attempt([&] {
    for (const std::string& name : store.names_in(front.size() > 1 ? front.substr(0, slash) : front))
      if (name.starts_with(base)) attempt([&] { store.remove(front + name); });
  });
}

// Commits the save if it is whole, or if its commit has begun, and removes its records. Returns whether it
// has committed it.
bool resume(Store& store, const std::string& path, const LeftSave& save) {
  const auto record = multifile::find_commit_record(store, path);
  // A loss of power may have lost the progress in the records, but not the commit, which was made durable.
  if (record && record->number == format::parse_temporary_name(save.temporary).value().number) {
    multifile::finish_commit(store, path);
    remove_lost(store, {save.temporary, {}});
    return true;
  }
  if (!store.status(save.temporary).exists) {  // was committed
    remove_lost(store, {save.temporary, {}});
    return false;
  }
  if (!is_whole(save.records)) {
    remove_lost(store, save);
    return false;
  }
  for (const SaveRecord& each : save.records) complete_files(store, save.temporary, each.marks());
  multifile::commit_set(store, save.temporary, path, save.nfiles(), true);
  remove_records(store, save.temporary, save.hosts());
  return true;
}

}  // namespace

bool resume_saves(Store& store, const std::string& path) {
  std::vector<LeftSave> left;
  for (const std::string& temporary : saves_beside(store, path))
    left.push_back({temporary, records_of_save(store, temporary)});
  std::ranges::sort(left, {}, &LeftSave::since);
  bool committed = false;
  for (const LeftSave& save : left) committed |= resume(store, path, save);
  return committed;
}

}  // namespace sheaf::saves
