#include "multifile/generation/generation.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <thread>
#include <vector>

#include "comm/reduce.hpp"
#include "multifile/generation/committed_file.hpp"
#include "storage/retries.hpp"

namespace sheaf::multifile {

namespace {

// Whether the tasks may attempt an open again.
struct Repetition {
  bool fails = false, mismatch = false, damaged = false;
  constexpr void combine(auto& by) { by.any(fails).any(mismatch).any(damaged); }
};

using FileHead = std::array<std::byte, format::fixed_size>;

// Returns the first bytes of a file; fewer if the file is shorter.
std::vector<std::byte> head_of(File& file) {
  FileHead head;
  const size_t got = file.read_at(head, 0);
  return {head.begin(), head.begin() + static_cast<ptrdiff_t>(got)};
}

// Returns the first bytes of the file `path`; no bytes if the file does not exist.
std::vector<std::byte> head_of(Store& store, const std::string& path) {
  try {
    return head_of(*store.open(path, Access::read));
  } catch (const Error& e) {
    if (e.code() != Code::not_found) throw;
  }
  return {};
}

}  // namespace

std::optional<format::CommitRecord> read_commit_record(File& file) {
  return format::decode_commit_record(head_of(file), file.path());
}

std::optional<format::CommitRecord> find_commit_record(Store& store, const std::string& path) {
  return format::decode_commit_record(head_of(store, path), path);
}

std::optional<format::Identity> read_identity(File& file) {
  FileHead bytes;  // no heap allocation, because every reading task runs this
  return identity_in(std::span(bytes).first(file.read_at(bytes, 0)), file.path());
}

std::optional<format::Identity> identity_in(std::span<const std::byte> head, const std::string& path) {
  if (!format::begins_as_multifile(head)) return std::nullopt;
  std::optional<format::Extension> extension;
  attempt([&] { extension = format::decode_extension(head, path); });
  return extension ? std::optional(extension->identity) : std::nullopt;
}

std::string temporary_name(Store& store, const std::string& path, const format::CommitRecord& record) {
  return format::temporary_name(store.target_of(path), record.number);
}

std::optional<int32_t> GenerationStore::number_of(const std::string& path) const {
  if (path == path_) return 0;
  const size_t begin = path_.size() + 1;
  if (path.size() <= begin || !path.starts_with(path_) || path[begin - 1] != '.') return std::nullopt;
  int32_t number = 0;
  const auto [end, wrong] = std::from_chars(path.data() + begin, path.data() + path.size(), number);
  if (wrong != std::errc() || number <= 0 || format::physical_name(path_, number) != path)
    return std::nullopt;
  return number;
}

std::shared_ptr<File> GenerationStore::open(const std::string& path, Access access) {
  const auto number = access == Access::read ? number_of(path) : std::nullopt;
  if (!number) return inner().open(path, access);
  if (record_) return open_committed(path, format::physical_name(temporary_, *number));
  auto file = inner().open(path, access);
  const bool opening = terms_.running && terms_.reads_metadata;
  if (expected_ && !opening) require_expected(read_identity(*file), path);
  const std::lock_guard guard(mutex_);
  if (*number == 0 && !lead_ && !is_open_) lead_ = file;
  if (!opening) return file;
  if (!attempt_) attempt_ = std::make_shared<OpenAttempt>(OpenAttempt{this, terms_.prefetches});
  auto wrapped = std::make_shared<OpeningFile>(std::move(file), attempt_, expected_.has_value());
  opening_.insert_or_assign(wrapped.get(), wrapped);
  return wrapped;
}

void GenerationStore::check_identities() {
  for (const auto& [address, file] : opening_)
    if (const auto opening = file.lock()) opening->check_identity();
}

std::shared_ptr<File> GenerationStore::opened(const std::shared_ptr<File>& file) const {
  const auto found = opening_.find(file.get());
  const auto opening = found == opening_.end() ? nullptr : found->second.lock();
  return opening ? opening->opened() : file;
}

std::shared_ptr<File> GenerationStore::open_committed(const std::string& path, const std::string& temporary) {
  std::shared_ptr<File> file;
  try {
    file = std::make_shared<CommittedFile>(inner(), inner().open(temporary, Access::read), path,
                                           record_->identity);
  } catch (const Error& e) {
    if (e.code() != Code::not_found) throw;
    file = inner().open(path, Access::read);
  }
  if (read_identity(*file) == record_->identity) return file;
  mismatch_ = true;
  throw file_error(Code::damaged, path,
                   "is not of the generation that the commit record of '" + path_ + "' names, and '" +
                       temporary + "' is missing");
}

FileStatus GenerationStore::status(const std::string& path) {
  const auto number = record_ ? number_of(path) : std::nullopt;
  if (number)
    if (FileStatus found = inner().status(format::physical_name(temporary_, *number)); found.exists)
      return found;
  return inner().status(path);
}

// Returns true if the name now refers to a different file than `lead`. Compares numbers of files, because a
// store that shares open files may return the former file under the name.
bool GenerationStore::is_replaced(File& lead) {
  const FileStatus was = lead.status();
  const FileStatus now = inner().status(path_);
  return was.number != 0 && now.number != 0 && (was.number != now.number || was.device != now.device);
}

void GenerationStore::require_expected(const std::optional<format::Identity>& found,
                                       const std::string& path) {
  if (!expected_ || found == *expected_) return;
  mismatch_ = true;
  if (!is_open_) {
    const auto lead = inner().open(path_, Access::read);
    if (!format::begins_as_commit_record(head_of(*lead)) && read_identity(*lead) == *expected_ &&
        !is_replaced(*lead))
      return;
  }
  throw file_error(Code::damaged, path,
                   "is of another generation than '" + path_ + "' was when it was opened");
}

bool GenerationStore::may_pass(const Error& problem) {
  return problem.errno_value() == ESTALE || problem.code() == Code::not_found ||
         problem.code() == Code::damaged || problem.code() == Code::not_a_multifile;
}

void GenerationStore::begin_attempt() {
  expected_.reset();
  terms_.running = terms_.reads_metadata = true;
}

void GenerationStore::end_attempt() {
  for (const auto& [address, file] : std::exchange(opening_, {}))
    if (const auto opening = file.lock()) opening->drop_prefetched(0);
  terms_.running = false;
  if (attempt_) attempt_->store = nullptr;
  attempt_.reset();
}

void GenerationStore::succeed() {
  is_open_ = true;
  lead_.reset();
}

void GenerationStore::use(const std::optional<format::CommitRecord>& record) {
  record_ = record;
  temporary_ = record ? temporary_name(inner(), path_, *record) : "";
  expected_.reset();
  lead_.reset();
}

bool GenerationStore::is_changed() {
  const std::vector<std::byte> before = lead_ ? head_of(*lead_) : std::vector<std::byte>();
  lead_.reset();  // otherwise a store that shares open files would return it again
  const std::vector<std::byte> now = head_of(inner(), path_);
  const auto record = format::decode_commit_record(now, path_);
  if (record_ || record ? record == record_ : before == now) return false;
  use(record);
  return true;
}

bool GenerationStore::look_again() {
  if (is_changed()) return true;
  // If this host may have cached names of two generations, waits a moment for it to revalidate them.
  if (!mismatch_ || inner().traits(path_).is_local()) return false;
  mismatch_ = false;
  if (!names_known_) names_known_.emplace(name_timeout);
  if (names_known_->expired()) return false;
  std::this_thread::sleep_for(member_timeout);
  return true;
}

bool GenerationStore::repeats(const Error& problem) {
  if (!may_pass(problem)) return false;
  const bool torn = may_be_torn(problem.code() == Code::damaged);
  return look_again() || torn;
}

bool GenerationStore::repeats_together(Comm& comm, const Error& problem, bool may_repeat) {
  if (comm.rank() != 0) lead_.reset();  // only task 0 compares
  Repetition any{!may_repeat || !may_pass(problem), mismatch_, problem.code() == Code::damaged};
  reduce(comm, any);
  mismatch_ = any.mismatch;
  const bool torn = may_be_torn(any.damaged);
  return !any.fails && (find_record(comm) || torn);
}

// Runs look_again() on task 0 and broadcasts the result. Collective.
bool GenerationStore::find_record(Comm& comm) {
  struct RecordLookup {
    int64_t changed = 0;
    int64_t has_record = 0;
    std::array<std::byte, format::commit_record_size> record{};
  } found;
  if (comm.rank() == 0)
    attempt([&] {
      found.changed = look_again();
      found.has_record = record_.has_value();
      if (record_) found.record = format::encode(*record_);
    });
  comm.broadcast(std::as_writable_bytes(std::span(&found, 1)), 0);
  if (found.changed && comm.rank() != 0)
    use(found.has_record ? format::decode_commit_record(found.record, path_) : std::nullopt);
  return found.changed != 0;
}

}  // namespace sheaf::multifile
