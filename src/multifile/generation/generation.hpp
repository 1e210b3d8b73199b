// multifile/generation/generation: finds the files of the current generation of a multifile (docs/format.md,
// section 20), for all code that opens a multifile for reading.
//
// A commit may rename files at any time, or may have been interrupted. So the caller opens a multifile in
// attempts. An attempt is repeated if it fails because the generation has changed:
//
//   GenerationStore files(store, path);
//   files.open_multifile([&] { ... files.open(format::physical_name(path, k), Access::read) ... });
//
// A successful attempt adds no requests to those made to the inner store.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/export.hpp"
#include "base/os/deadline.hpp"
#include "comm/agree.hpp"
#include "comm/collective_call.hpp"
#include "comm/comm.hpp"
#include "format/commit_record.hpp"
#include "storage/decorators/forwarding_store.hpp"

namespace sheaf::multifile {

// Reads the commit record in `file`. Returns nullopt if the file is something else. Throws what
// decode_commit_record throws.
std::optional<format::CommitRecord> read_commit_record(File& file);
// Opens `path` and reads its commit record. Returns nullopt if the file does not exist or is something else.
std::optional<format::CommitRecord> find_commit_record(Store& store, const std::string& path);

// Returns the identity of a physical file; nullopt if it has no valid extension header.
std::optional<format::Identity> read_identity(File& file);

// Returns the temporary name of physical file 0 of the generation of a record found under `path`.
std::string temporary_name(Store& store, const std::string& path, const format::CommitRecord& record);

// Opens the physical files of the multifile `path` for reading (Access::read). Callers pass final names;
// during a commit, the store opens the files under their temporary names. Other paths and accesses are
// forwarded to the inner store.
//
// Threads: open() is thread-safe; other calls need exclusive access.
class SHEAF_EXPORT GenerationStore final : public ForwardingStore {
 public:
  // `inner` must outlive the object and the files that were opened during a commit. Opened files may outlive
  // the object.
  GenerationStore(Store& inner, std::string path) : ForwardingStore(inner), path_(std::move(path)) {}

  // Throws `damaged` for a physical file with a different identity than expected.
  std::shared_ptr<File> open(const std::string& path, Access access) override;
  FileStatus status(const std::string& path) override;

  // Requires all files opened from now on to have the identity of file 0, if that has one.
  void expect(const std::optional<format::Identity>& identity) { expected_ = identity; }

  // Runs `open` until it succeeds. After a failure, repeats it only if the generation has changed since the
  // attempt began, or if this host may have outdated names; otherwise throws the error. Makes at most 100
  // attempts.
  template <class Attempt>
  void open_multifile(Attempt&& open) {
    for (int tries = 1;; ++tries) {
      const auto problem = attempt(open);
      if (!problem) return succeed();
      if (!may_pass(*problem) || tries == max_tries || !look_again()) throw *problem;
    }
  }
  // Does the same collectively over `comm`. `open` must throw on all tasks or on none; where it runs out of
  // memory, the job may end (comm/collective_call).
  template <class Attempt>
  void open_multifile(Comm& comm, Attempt&& open) {
    for (int tries = 1;; ++tries) {
      const auto problem = attempt([&] { collective_call(comm.job_end(), "open", open); });
      if (!problem) return succeed();
      if (!look_again_together(comm, *problem, tries < max_tries)) throw *problem;
    }
  }

  // Looks for a commit record before the first attempt. Collective over `comm`. Needed if files are also
  // opened through a store that replaces unreadable files (BuddyStore): it would hide the failure that makes
  // open_multifile() look for a record. Returns on all tasks whether an attempt should be repeated.
  bool find_record(Comm& comm);
  // Forgets the commit record. Must be called after the commit was completed.
  void forget_record() { use(std::nullopt); }
  // Returns the record of a commit that is in progress or was interrupted, if an attempt has found one.
  const std::optional<format::CommitRecord>& record() const { return record_; }

 private:
  static constexpr int max_tries = 100;

  // Returns true if a commit can explain the failure.
  static bool may_pass(const Error& problem);
  // Returns true if the attempt should be repeated: the generation has changed, or this host may have
  // outdated names. The next attempt uses the generation found by this call.
  bool look_again();
  bool is_changed();
  bool look_again_together(Comm& comm, const Error& problem, bool may_repeat);
  void succeed();
  void use(const std::optional<format::CommitRecord>& record);

  // Returns the number of the physical file with this path; nullopt if it does not belong to this multifile.
  std::optional<int32_t> number_of(const std::string& path) const;
  std::shared_ptr<File> open_committed(const std::string& path, const std::string& temporary);
  bool is_replaced(File& lead);
  void require_expected(File& file, const std::string& path);

  const std::string path_;
  std::optional<format::CommitRecord> record_;
  std::string temporary_;                                    // temporary name of physical file 0
  std::optional<std::optional<format::Identity>> expected_;  // none: any identity
  std::atomic<bool> mismatch_ = false;   // an attempt has opened a file of a different generation
  std::optional<Deadline> names_known_;  // set by the first attempt that failed because of such a file
  std::mutex mutex_;                     // guards the following members
  bool is_open_ = false;                 // an attempt has succeeded
  std::shared_ptr<File> lead_;           // file that the current attempt opened first under path_
};

}  // namespace sheaf::multifile
