// generation/generation: the files of the generation that is under the name of a multifile (docs/format.md,
// section 20), for everything that opens a multifile to read it.
//
// A commit may rename files at any time, and may have been killed on the way. Opening a multifile therefore
// is an attempt that is repeated as long as it fails because another generation came under the name:
//
//   GenerationStore files(store, path);
//   files.open_multifile([&] { ... files.open(format::physical_name(path, k), Access::read) ... });
//
// An attempt that succeeds has asked the store for nothing more than it would ask the inner one.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/export.hpp"
#include "comm/agree.hpp"
#include "comm/comm.hpp"
#include "format/commit_record.hpp"
#include "storage/decorators/forwarding_store.hpp"

namespace sheaf {

// The commit record that `file` is; nullopt: it is something else. Throws what decode_commit_record throws.
std::optional<format::CommitRecord> read_commit_record(File& file);
// The same by name; nullopt also if there is no such file.
std::optional<format::CommitRecord> find_commit_record(Store& store, const std::string& path);

// The identity of a physical file; nullopt: it has no sound extension header.
std::optional<format::Identity> read_identity(File& file);

// Temporary name of physical file 0 of the generation of a record that was found under `path`.
std::string temporary_name(Store& store, const std::string& path, const format::CommitRecord& record);

// Opens the physical files of the multifile `path` by their final names (Access::read). Between the steps of
// a commit it finds them under their temporary names. Other paths and accesses go to the inner store.
//
// Threads: open() from any; everything else from one, while no other call runs.
class SHEAF_EXPORT GenerationStore final : public ForwardingStore {
 public:
  // `inner` outlives the object; files may outlive both.
  GenerationStore(Store& inner, std::string path) : ForwardingStore(inner), path_(std::move(path)) {}

  // Throws damaged for a physical file with another identity than expected.
  std::shared_ptr<File> open(const std::string& path, Access access) override;
  FileStatus status(const std::string& path) override;

  // The identity of file 0, if it has one, which every file that is opened from now on must have, too.
  void expect(const std::optional<format::Identity>& identity) { expected_ = identity; }

  // Runs `attempt` until it succeeds, or fails although the generation is the same as at its begin. Throws
  // what it throws last.
  template <class Attempt>
  void open_multifile(Attempt&& open) {
    for (int tries = 1;; ++tries) {
      const auto problem = attempt(open);
      if (!problem) return succeed();
      if (!may_pass(*problem) || tries == most_tries || !look_again()) throw *problem;
    }
  }
  // Collective over `comm`: the same for an attempt that throws on all tasks or on none.
  template <class Attempt>
  void open_multifile(Comm& comm, Attempt&& open) {
    for (int tries = 1;; ++tries) {
      const auto problem = attempt(open);
      if (!problem) return succeed();
      if (!look_again_together(comm, *problem, tries < most_tries)) throw *problem;
    }
  }

  // Collective over `comm`: finds the record that is there before the first attempt, for who opens files also
  // through stores that replace what is no multifile.
  void find_record(Comm& comm);
  // The record was finished.
  void forget_record() { use(std::nullopt); }
  // The commit under way, or left by a killed program, as far as the attempts have found one.
  const std::optional<format::CommitRecord>& record() const { return record_; }

 private:
  static constexpr int most_tries = 100;

  // Whether a commit explains the failure.
  static bool may_pass(const Error& problem);
  // Whether to repeat the attempt: the generation is another one than at its begin, or this host does not
  // know all names right yet. The next attempt opens what is found here.
  bool look_again();
  bool is_changed();
  bool may_know_old_names();
  bool look_again_together(Comm& comm, const Error& problem, bool may_repeat);
  bool look_for_all(Comm& comm);
  void succeed();
  void use(const std::optional<format::CommitRecord>& record);

  // The number of the physical file called so; nullopt: it is none of this multifile.
  std::optional<int32_t> number_of(const std::string& path) const;
  std::shared_ptr<File> open_committed(const std::string& path, const std::string& temporary);
  bool is_replaced(File& lead);
  void require_expected(File& file, const std::string& path);

  const std::string path_;
  std::optional<format::CommitRecord> record_;
  std::string temporary_;                                    // physical file 0 of its generation
  std::optional<std::optional<format::Identity>> expected_;  // none: any
  std::atomic<bool> mismatch_ = false;  // an attempt has opened a file of another generation
  // When an attempt first failed because of that.
  std::optional<std::chrono::steady_clock::time_point> mismatched_;
  std::mutex mutex_;            // guards what follows
  bool is_open_ = false;        // an attempt has succeeded
  std::shared_ptr<File> lead_;  // what this attempt has opened first under path_
};

}  // namespace sheaf
