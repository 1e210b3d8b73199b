// Implements the operations of the command `sheaf` as C calls (sheaf_tools.h), with callbacks for progress
// and findings.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/guard.hpp"
#include "api/sion/metadata_handle.hpp"
#include "multifile/journal/ownership.hpp"
#include "multifile/metadata/task_names.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/options/environment.hpp"
#include "multifile/options/open_mode.hpp"
#include "multifile/recover/repair.hpp"
#include "multifile/saves/listing.hpp"
#include "multifile/tools/defrag.hpp"
#include "multifile/tools/split.hpp"
#include "sfio/striped_store.hpp"
#include "streams/verify/verify_set.hpp"

using namespace sheaf;
using namespace sheaf::multifile;
using namespace sheaf::sfio;
using namespace sheaf::api;

namespace {

class CallbackProgress : public WorkProgress {
 public:
  CallbackProgress(sheaf_progress call, void* user) : call_(call), user_(user) {}
  void begin(int64_t total_bytes) override {
    total_ = done_ + total_bytes;
    advance(0);
  }
  void advance(int64_t bytes) override {
    done_ += bytes;
    if (call_ && call_(user_, done_, total_) != 0)
      throw Error(Code::invalid_argument, "the progress callback has ended the work");
  }

 private:
  sheaf_progress call_;
  void* user_;
  int64_t total_ = 0, done_ = 0;
};

Checking checking_of(int flags) { return flags & SHEAF_IGNORE_CHECKSUMS ? Checking::off : Checking::on; }

const Multifile& of(const sheaf_metadata* metadata) {
  require(metadata, "metadata");
  return metadata->multifile;
}

int64_t plain_bytes(const Multifile& m, int64_t task, const TaskRow& row) {
  if (!m.file_of(row).header.compressed) return row.sizes.total();
  ReadStream stream;
  load_stream(stream, m, task, row);
  return stream.sizes().total();
}

// Returns true if the operation overrides a job that may be writing the file. Throws if a job is running and
// `flags` do not contain SHEAF_FORCE.
bool overrides_job(const char* path, int flags) {
  if (flags & SHEAF_FORCE) return look_at_lease(any_store(), path).holder != Holder::none;
  const LeaseView view = watch_lease(any_store(), path, lease_times(), [](const LeaseView&) {});
  if (view.holder != Holder::living) return false;
  throw file_error(
      Code::foreign, path,
      "is being written: " + view.job() + " lives. Repair it when that has ended, or a copy of it");
}

}  // namespace

const char* sheaf_last_error_kind(int* errno_value, int* task) {
  if (errno_value) *errno_value = last_error_facts().errno_value;
  if (task) *task = last_error_facts().task;
  return name_of(last_error_facts().code);
}

sheaf_metadata* sheaf_metadata_open(const char* path, int checksums) {
  return guarded("sheaf_metadata_open", -1, static_cast<sheaf_metadata*>(nullptr), [&] {
    require(path, "path");
    auto store = any_store_for(path);
    Multifile m = load_multifile(*store, path, checksums ? Checking::on : Checking::off, held_by_readers);
    return new sheaf_metadata{std::move(store), std::move(m)};
  });
}

sheaf_metadata* sheaf_metadata_open_small(const char* path, int checksums, long long* tasks) {
  return guarded("sheaf_metadata_open_small", -1, static_cast<sheaf_metadata*>(nullptr), [&] {
    require(path, "path");
    require(tasks, "tasks");
    *tasks = -1;
    auto store = any_store_for(path);
    int64_t found = 0;
    auto m = load_small_multifile(*store, path, checksums ? Checking::on : Checking::off, found);
    auto* const metadata = m ? new sheaf_metadata{std::move(store), std::move(*m)} : nullptr;
    *tasks = found;
    return metadata;
  });
}

void sheaf_metadata_close(sheaf_metadata* metadata) { delete metadata; }

int sheaf_metadata_info(const sheaf_metadata* metadata, sheaf_multifile_info* info) {
  return succeeds("sheaf_metadata_info", -1, [&] {
    require(info, "info");
    const Multifile& m = of(metadata);
    const PhysicalFile& first = m.files.front();
    const format::Header& h = first.header;
    *info = {m.ntasks(),
             m.maxblocks(),
             m.data_bytes(),
             static_cast<int>(m.files.size()),
             h.fsblksize,
             static_cast<int>(h.version),
             static_cast<int>(h.library),
             h.keyval() == format::KeyvalMode::inline_,
             m.closed(),
             first.extension && first.extension->checksums(),
             m.compressed(),
             h.userdata_order == ByteOrder::big};
  });
}

const char* sheaf_metadata_path(const sheaf_metadata* metadata, int file) {
  return guarded("sheaf_metadata_path", -1, static_cast<const char*>(nullptr), [&] {
    const Multifile& m = of(metadata);
    if (file < 0 || file >= std::ssize(m.files))
      throw file_error(
          Code::out_of_range, m.path,
          "has " + std::to_string(m.files.size()) + " physical files, no number " + std::to_string(file));
    return m.files[static_cast<size_t>(file)].path().c_str();
  });
}

long long sheaf_metadata_tasks(const sheaf_metadata* metadata, long long first, long long count, int lengths,
                               sheaf_task_info* tasks) {
  return guarded("sheaf_metadata_tasks", static_cast<int>(first), -1LL, [&] {
    const Multifile& m = of(metadata);
    if (first < 0 || first > m.ntasks() || count < 0)
      throw file_error(
          Code::out_of_range, m.path,
          "has " + std::to_string(m.ntasks()) + " tasks, none of number " + std::to_string(first));
    const long long end = first + std::min<long long>(count, m.ntasks() - first);
    if (end > first) require(tasks, "tasks");
    TaskRows rows(m);
    for (long long t = first; t < end; ++t) {
      const TaskRow& row = rows.at(t);
      tasks[t - first] = {row.place.file,
                          row.place.local_rank,
                          row.globalrank,
                          row.geometry.size,
                          row.sizes.count,
                          row.sizes.total(),
                          lengths ? plain_bytes(m, t, row) : -1};
    }
    return end - first;
  });
}

long long sheaf_metadata_chunks(const sheaf_metadata* metadata, long long task, long long first,
                                long long count, sheaf_chunk* chunks) {
  return guarded("sheaf_metadata_chunks", static_cast<int>(task), -1LL, [&] {
    const Multifile& m = of(metadata);
    if (task < 0 || task >= m.ntasks() || first < 0 || count < 0)
      throw file_error(Code::out_of_range, m.path,
                       "has no chunk " + std::to_string(first) + " of task " + std::to_string(task));
    const TaskRow row = m.row(task);
    const long long end = first + std::clamp<long long>(row.sizes.count - first, 0, count);
    if (end > first) require(chunks, "chunks");
    for (long long b = first; b < end; ++b)
      chunks[b - first] = {row.geometry.offset(b), row.geometry.size, row.sizes[b]};
    return end - first;
  });
}

long long sheaf_metadata_names(const sheaf_metadata* metadata, sheaf_name_visit visit, void* user) {
  return guarded("sheaf_metadata_names", -1, -1LL, [&] {
    require(reinterpret_cast<const void*>(visit), "visit");
    long long calls = 0;
    for (const format::TaskName& name : read_task_names(of(metadata)).names)
      if (visit(user, calls++, name.name.c_str(), name.modified) != 0) break;
    return calls;
  });
}

static void tell(const FileReport& file, sheaf_finding finding, void* user) {
  if (file.findings.empty()) finding(user, file.path.c_str(), name_of(file.state), nullptr);
  for (const Finding& what : file.findings)
    finding(user, file.path.c_str(), name_of(what.state), what.message.c_str());
  for (const std::string& note : file.notes) finding(user, file.path.c_str(), "note", note.c_str());
}

int sheaf_verify(const char* path, int data, sheaf_progress progress, sheaf_finding finding, void* user) {
  return guarded("sheaf_verify", -1, -1, [&] {
    require(path, "path");
    CallbackProgress told(progress, user);
    const streams::SetReport report = streams::verify_set(any_store(), path, data != 0, told);
    if (finding && report.multifile)
      for (const FileReport& file : report.multifile->files) tell(file, finding, user);
    if (finding && report.containers) tell(*report.containers, finding, user);
    return report.ok() ? 1 : 0;
  });
}

int sheaf_repair(const char* path, const char* copy_to, int flags, sheaf_progress progress,
                 sheaf_finding finding, void* user) {
  return succeeds("sheaf_repair", -1, [&] {
    require(path, "path");
    RepairRequest request{.copy_to = copy_to ? copy_to : "",
                          .replace = (flags & SHEAF_REPLACE) != 0,
                          .dry_run = (flags & SHEAF_DRY_RUN) != 0,
                          .holes = (flags & SHEAF_BY_HOLES) != 0,
                          .accept_loss = (flags & SHEAF_FORCE) != 0};
    const bool in_place = !copy_to && !request.dry_run;
    auto complete = in_place ? report_if_complete(any_store(), path, request) : std::nullopt;
    std::shared_ptr<Ownership> ownership;
    if (in_place && !complete) {
      request.may_live = overrides_job(path, flags);
      ownership = Ownership::take(any_store(), path, {.steals = true});
    }
    CallbackProgress told(progress, user);
    const RepairReport report = complete ? std::move(*complete) : repair(any_store(), path, request, told);
    for (const RepairedFile& f : report.files) {
      if (!finding) break;
      finding(user, f.path.c_str(), name_of(f.source), nullptr);
      for (const std::string& what : f.unknown) finding(user, f.path.c_str(), "unknown", what.c_str());
    }
  });
}

int sheaf_split(const char* path, const char* prefix, int digits, const long long* tasks, long long ntasks,
                int flags, sheaf_progress progress, void* user) {
  return succeeds("sheaf_split", -1, [&] {
    require(path, "path");
    require(prefix, "prefix");
    if (digits < 1 || digits > 200)
      throw Error(Code::invalid_argument, std::to_string(digits) + " digits; 1 to 200 are possible");
    if (ntasks == 0) return;
    SplitRequest request{prefix, digits, (flags & SHEAF_GLOBAL_RANKS) != 0, {}, (flags & SHEAF_REPLACE) != 0};
    if (ntasks > 0) {
      require(tasks, "tasks");
      request.tasks.assign(tasks, tasks + ntasks);
    }
    CallbackProgress told(progress, user);
    split(any_store(), load_multifile(any_store(), path, checking_of(flags)), request, told);
  });
}

int sheaf_defrag(const char* path, const char* output, int block_size, const char* words, int flags,
                 sheaf_progress progress, void* user) {
  return succeeds("sheaf_defrag", -1, [&] {
    require(path, "path");
    require(output, "output");
    const OpenMode mode = parse_open_mode(words ? std::string("w,strict,") + words : "w");
    if (!mode.unknown.empty())
      throw Error(Code::invalid_argument, "'" + mode.unknown.front() + "' says nothing about compression");
    const DefragRequest request{.output = output,
                                .fsblksize = std::max(block_size, 0),
                                .replace = (flags & SHEAF_REPLACE) != 0,
                                .plain = (flags & SHEAF_DECOMPRESS) != 0,
                                .compression = mode.compression,
                                .nfiles = mode.file_policy == FilePolicy::fixed ? mode.files : 1};
    CallbackProgress told(progress, user);
    defrag(any_store(), load_multifile(any_store(), path, checking_of(flags)), request, told);
  });
}

long long sheaf_list_saves(const char* directory, sheaf_save_visit visit, void* user) {
  return guarded("sheaf_list_saves", -1, -1LL, [&] {
    require(directory, "directory");
    require(reinterpret_cast<const void*>(visit), "visit");
    long long calls = 0;
    for (const saves::SaveEntry& save : saves::list_saves(*any_store_for(directory), directory)) {
      const sheaf_save_entry entry{.name = save.name.c_str(),
                                   .temporary = save.temporary.c_str(),
                                   .state = saves::name_of(save.state),
                                   .error = save.error.c_str(),
                                   .age = save.age,
                                   .rate = save.rate(),
                                   .bytes = save.bytes,
                                   .written = save.written,
                                   .tasks = save.tasks,
                                   .hosts = save.hosts};
      ++calls;
      if (visit(user, &entry) != 0) break;
    }
    return calls;
  });
}
