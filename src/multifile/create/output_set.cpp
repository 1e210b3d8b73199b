#include "multifile/create/output_set.hpp"

#include <cerrno>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "multifile/create/constants.hpp"
#include "multifile/journal/lease.hpp"

namespace sheaf::multifile {

namespace {

[[noreturn]] void refuse_existing(const std::string& name) {
  throw file_error(Code::invalid_argument, name, "exists already; use --force to replace it");
}

std::string temporary_name(const std::string& name, int suffix) {
  return name + ".part" + (suffix > 0 ? std::to_string(suffix) : "");
}

}  // namespace

FileStatus require_replaceable(Store& store, const std::string& name) {
  FileStatus status = store.status(name);
  if (status.is_directory)
    throw file_error(Code::invalid_argument, name, "is a directory; give the name of a file");
  if (status.is_special)
    throw file_error(Code::invalid_argument, name, "is not a regular file and is not replaced");
  return status;
}

OutputSet::~OutputSet() {
  // Errors are ignored: a file may be gone already, and a destructor cannot report failures.
  for (; committed_ < names_.size(); ++committed_) attempt([&] { store_.remove(temporary(committed_)); });
}

std::string OutputSet::temporary(size_t number) const {
  return temporary_name(names_[number].target, names_[number].suffix);
}

// Throws if a job is writing the file, because the bytes that it writes later would be lost with the replaced
// file.
void OutputSet::refuse_written(const std::string& name, const LeaseView& view) const {
  if (of_owner_) return;
  if (view.problem) throw *view.problem;
  const bool is_own = ownership_ && view.lease && view.lease->id == ownership_->id();
  if (view.holder == Holder::living && !is_own)
    throw file_error(Code::foreign, name,
                     "is being written: " + view.job() + " lives. It is not replaced before that has ended");
}

void OutputSet::own(const std::string& name) {
  SHEAF_ASSERT(names_.empty() && !ownership_);
  ownership_ = Ownership::take(
      store_, name, {.reopens = false, .advice = "it is not replaced before that has closed it or ended"});
}

// A symbolic link with a derived name counts as an existing file, even if it is circular.
FileStatus OutputSet::check(const std::string& name) const {
  if (naming_ == Naming::derived && place_beside(store_, name) != name)
    if (existing_ == Existing::refused) refuse_existing(name);
  const FileStatus status = require_replaceable(store_, name);
  if (status.exists && existing_ == Existing::refused) refuse_existing(name);
  if (status.exists) refuse_written(name, look_at_lease(store_, name));
  return status;
}

namespace {

// Returns true if only the user of this process can have created the file.
bool is_of_this_user(Store& store, const std::string& name, const FileStatus& found) {
  if (found.is_own) return true;
  const size_t slash = name.rfind('/');
  const FileStatus directory =
      store.status(slash == std::string::npos ? "." : name.substr(0, std::max<size_t>(slash, 1)));
  return directory.is_own && !directory.others_may_write;
}

}  // namespace

OutputSet::OutputFile OutputSet::described(const std::string& name, const std::string& original) const {
  const FileStatus found = check(name);
  if (naming_ == Naming::given) return {name, store_.target_of(name), found.exists ? name : original};
  const bool is_like =
      found.exists && place_beside(store_, name) == name && is_of_this_user(store_, name, found);
  return {name, name, is_like ? name : original};
}

std::shared_ptr<File> OutputSet::add(const std::string& name, const std::string& original) {
  OutputFile added = described(name, original);
  for (;; ++added.suffix) {
    try {
      auto file = make_beside(store_, temporary_name(added.target, added.suffix));
      names_.push_back(std::move(added));
      if (!names_.back().like.empty())
        store_.copy_attributes(temporary(names_.size() - 1), names_.back().like, ReplaceState::begun);
      return file;
    } catch (const Error& error) {
      if (error.errno_value() != EEXIST || added.suffix == creation_constants::max_suffixes) throw;
    }
  }
}

void OutputSet::commit() {
  SHEAF_ASSERT(committed_ == 0);
  if (ownership_) ownership_->require_owned(Ownership::LeaseCheck::name);
  try {
    for (; committed_ < names_.size(); ++committed_) commit_next();
  } catch (...) {
    remove_new();
    throw;
  }
}

void OutputSet::commit_next() {
  OutputFile& name = names_[committed_];
  name.replaces = check(name.final).exists;
  if (name.replaces) {
    LeaseView view = look_at_lease(store_, name.final);
    if (view.holder == Holder::unknown)
      view = watch_lease(store_, name.final, lease_times(), [](const LeaseView&) {});
    refuse_written(name.final, view);
  }
  if (!name.like.empty()) store_.copy_attributes(temporary(committed_), name.like, ReplaceState::done);
  store_.rename(temporary(committed_), name.target);
}

void OutputSet::remove_new() {
  for (size_t i = 0; i < committed_; ++i)
    if (!names_[i].replaces) attempt([&] { store_.remove(names_[i].target); });
}

}  // namespace sheaf::multifile
