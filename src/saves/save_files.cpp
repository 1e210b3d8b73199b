#include "saves/save_files.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "format/commit_record.hpp"
#include "multifile/create/commit.hpp"
#include "saves/host_record.hpp"
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

// The records of all hosts of a save; empty if one is missing or damaged.
std::vector<SaveRecord> records_of_save(Store& store, const std::string& temporary) {
  std::vector<SaveRecord> records;
  const auto problem = attempt([&] {
    int32_t hosts = 1;
    for (int32_t h = 0; h < hosts; ++h) {
      auto record = read_record(store, format::save_record_name(temporary, h));
      if (!record) throw Error(Code::not_found, "a record is missing");
      hosts = record->head.hosts;
      records.push_back(std::move(*record));
    }
  });
  return problem ? std::vector<SaveRecord>() : records;
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
  constexpr std::string_view end = ".save.000000";
  std::vector<std::string> found;
  for (const std::string& name : store.names_in(front.size() > 1 ? front.substr(0, slash) : front)) {
    if (!name.ends_with(end)) continue;
    const std::string temporary = name.substr(0, name.size() - end.size());
    const auto parsed = format::parse_temporary_name(temporary);
    if (parsed && parsed->target == base) found.push_back(front + temporary);
  }
  return found;
}

bool resume_saves(Store& store, const std::string& path) {
  struct LeftSave {
    std::string temporary;
    std::vector<SaveRecord> records;
    int64_t since() const { return records.empty() ? 0 : records.front().head.since; }
  };
  std::vector<LeftSave> left;
  for (const std::string& temporary : saves_beside(store, path))
    left.push_back({temporary, records_of_save(store, temporary)});
  std::ranges::sort(left, {}, &LeftSave::since);
  bool committed = false;
  for (const LeftSave& save : left) {
    const int32_t nfiles = save.records.empty() ? 1 : save.records.front().head.nfiles;
    const int32_t hosts = save.records.empty() ? 1 : save.records.front().head.hosts;
    const bool is_committed = !store.status(save.temporary).exists;
    if (!is_committed && !is_whole(save.records)) {
      remove_save(store, save.temporary, nfiles, hosts);
      continue;
    }
    if (!is_committed) {
      for (const SaveRecord& record : save.records) complete_files(store, save.temporary, record.head.marks);
      multifile::commit_set(store, save.temporary, path, nfiles, true);
      committed = true;
    }
    remove_records(store, save.temporary, hosts);
  }
  return committed;
}

}  // namespace sheaf::saves
