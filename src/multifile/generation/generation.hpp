// multifile/generation/generation: finds the files of the current generation of a multifile (docs/format.md,
// section 20), for all code that opens a multifile for reading.
//
// A commit may rename files at any time, or may have been interrupted. So the caller opens a multifile in
// attempts. An attempt is repeated if it fails because the generation has changed:
//
//   GenerationStore files(store, path);
//   files.open_multifile([&] { ... files.open(format::physical_name(path, k), Access::read) ... });
//
// A successful attempt adds no requests to those made to the inner store, except for check_identities(). The
// opened files prefetch metadata during the attempt (OpeningFile).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "base/export.hpp"
#include "base/os/deadline.hpp"
#include "comm/agree.hpp"
#include "comm/collective_call.hpp"
#include "comm/comm.hpp"
#include "format/commit_record.hpp"
#include "multifile/generation/opening_file.hpp"
#include "storage/decorators/forwarding_store.hpp"

namespace sheaf::multifile {

// Reads the commit record in `file`. Returns nullopt if the file is something else. Throws what
// decode_commit_record throws.
std::optional<format::CommitRecord> read_commit_record(File& file);
// Opens `path` and reads its commit record. Returns nullopt if the file does not exist or is something else.
std::optional<format::CommitRecord> find_commit_record(Store& store, const std::string& path);

// Return the identity of a physical file; nullopt if it has no valid extension header. `head` has the first
// bytes of the file `path`.
std::optional<format::Identity> read_identity(File& file);
std::optional<format::Identity> identity_in(std::span<const std::byte> head, const std::string& path);

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
  ~GenerationStore() override { end_attempt(); }

  // In an attempt, returns an OpeningFile. Throws `damaged` for a physical file with a different identity
  // than expected; in an attempt, the read of its header or check_identities() does so.
  std::shared_ptr<File> open(const std::string& path, Access access) override;
  FileStatus status(const std::string& path) override;

  // States whether the caller reads the metadata of the files that it opens from now on in this attempt. If
  // not, open() returns no OpeningFile, which saves memory, and checks the identity itself. Initially true.
  void reads_metadata(bool reads) { terms_.reads_metadata = reads; }
  // Returns the file to use after the attempt instead of `file`, a result of open() in this attempt: the file
  // below the OpeningFile. Returns any other `file` unchanged; it may be null.
  std::shared_ptr<File> opened(const std::shared_ptr<File>& file) const;

  // Requires all files opened from now on to have the identity of file 0, if that has one. The next attempt
  // forgets it.
  void expect(const std::optional<format::Identity>& identity) { expected_ = identity; }
  // Checks the identities of the files opened in this attempt that the caller has not read the header of. A
  // collective attempt must call it before its tasks agree. Throws `damaged`.
  void check_identities();
  // Compares `found`, the identity of one file, with the expected one. Throws `damaged` if a commit explains
  // a difference; without a commit, the code that reads the metadata reports it.
  void require_expected(const std::optional<format::Identity>& found, const std::string& path);

  // Runs `open` until it succeeds. After a failure, repeats it only if the generation has changed since the
  // attempt began, if this host may have outdated names, or once if prefetched bytes may be the reason;
  // otherwise throws the error. Makes at most 100 attempts.
  template <class Attempt>
  void open_multifile(Attempt&& open) {
    for (int tries = 1;; ++tries) {
      const auto problem = attempt([&] {
        begin_attempt();
        open();
        check_identities();
      });
      end_attempt();
      if (!problem) return succeed();
      if (tries == max_tries || !repeats(*problem)) throw *problem;
    }
  }
  // Does the same collectively over `comm`. `open` must throw on all tasks or on none; where it runs out of
  // memory, the job may end (comm/collective_call).
  template <class Attempt>
  void open_multifile(Comm& comm, Attempt&& open) {
    for (int tries = 1;; ++tries) {
      const auto problem = attempt([&] {
        collective_call(comm.job_end(), "open", [&] {
          begin_attempt();
          open();
        });
      });
      end_attempt();
      if (!problem) return succeed();
      if (!repeats_together(comm, *problem, tries < max_tries)) throw *problem;
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
  // Return true if the failed attempt should be repeated.
  bool repeats(const Error& problem);
  bool repeats_together(Comm& comm, const Error& problem, bool may_repeat);
  // Returns true if the generation has changed, or this host may have outdated names. The next attempt uses
  // the generation found by this call.
  bool look_again();
  bool is_changed();
  // Returns true if an attempt may have found damage only because a file was completed during the request
  // that prefetched its metadata. The next attempts prefetch nothing.
  bool may_be_torn(bool damaged) { return std::exchange(terms_.prefetches, false) && damaged; }
  void begin_attempt();
  void end_attempt();
  void succeed();
  void use(const std::optional<format::CommitRecord>& record);

  // Returns the number of the physical file with this path; nullopt if it does not belong to this multifile.
  std::optional<int32_t> number_of(const std::string& path) const;
  std::shared_ptr<File> open_committed(const std::string& path, const std::string& temporary);
  bool is_replaced(File& lead);

  // Terms of the current attempt, or of the next one.
  struct AttemptTerms {
    bool running = false;
    bool prefetches = true;
    bool reads_metadata = true;
  };

  const std::string path_;
  std::optional<format::CommitRecord> record_;
  std::string temporary_;                                    // temporary name of physical file 0
  std::optional<std::optional<format::Identity>> expected_;  // none: any identity
  std::atomic<bool> mismatch_ = false;  // an attempt has opened a file of a different generation
  AttemptTerms terms_;
  std::optional<Deadline> names_known_;   // set by the first attempt that failed because of such a file
  std::mutex mutex_;                      // guards the following members
  bool is_open_ = false;                  // an attempt has succeeded
  std::shared_ptr<OpenAttempt> attempt_;  // null until the attempt opens its first OpeningFile
  // files opened in this attempt
  std::unordered_map<const File*, std::weak_ptr<OpeningFile>> opening_;
  std::shared_ptr<File> lead_;  // file that the current attempt opened first under path_
};

}  // namespace sheaf::multifile
