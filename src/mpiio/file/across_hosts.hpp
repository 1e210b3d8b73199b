// mpiio/file/across_hosts: adapts the access to a shared file to the hosts of its tasks. Task 0 determines
// the traits of the file system once, and all tasks use them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "comm/comm.hpp"
#include "storage/store.hpp"

namespace sheaf::mpiio {

struct SharedMode;

struct AcrossHosts : FileSystemTraits {
  int hosts = 1;  // hosts of the file's tasks; always 1 on file systems without separate page caches

  // Returns true if other hosts must revalidate before they see synced bytes.
  bool needs_revalidation() const { return coherence == Coherence::close_to_open; }
  // Returns true if two tasks of the file may have different page caches.
  bool caches() const { return needs_revalidation() && hosts > 1; }
  // Returns true if each transfer is published on its own.
  bool at_once() const { return !finds_own_writes(kind); }
  // Returns true if writing handles announce themselves to each other (exchange/transfer/concurrent_openers).
  bool marks_handles() const { return needs_revalidation() && locks == LockScope::global; }
  // Returns true if a lock excludes all other tasks of the file.
  bool excludes() const {
    return coherence == Coherence::local || locks == LockScope::global ||
           (hosts == 1 && locks == LockScope::host);
  }

  // Throws unsupported unless excludes().
  void require_locks(const std::string& path) const;

  // Returns false if a write must not read bytes and write them back, because another task might write there.
  bool may_sieve_writes() const { return !caches() && excludes(); }

  // Collective. Waits until all tasks are ready to close a striped file; has no effect on other files. The
  // last user of a subfile sets the length of the subfile when it closes. Without I/O listeners every task is
  // such a user, and a task must not set the length while others write. Returns the error of this task.
  std::optional<Error> await_all_before_close(File& file, Comm& comm, const SharedMode& mode) const;

  // Returns the file with the decorators that tasks on these hosts need.
  std::shared_ptr<File> wrap(std::shared_ptr<File> file) const;
};

// Returns the traits with the number of hosts of `comm`. Collective if the hosts do not share a page cache,
// else local.
AcrossHosts across_hosts(const FileSystemTraits& traits, Comm& comm);

// Open the file. Local. Task 0 calls open_first(), which creates the file if `mode` requests it. A file
// created with a set `wanted` is striped accordingly. open_first() also determines `traits`, which are
// unchanged on failure. The other tasks call open_next() on the existing file. On hosts with separate page
// caches, both functions retry for up to 5 s, because a name that was just created or replaced may not be
// visible yet.
std::shared_ptr<File> open_first(Store& store, const std::string& path, const SharedMode& mode,
                                 const Striping& wanted, FileSystemTraits& traits);
std::shared_ptr<File> open_next(Store& store, const std::string& path, const SharedMode& mode,
                                bool needs_revalidation);

}  // namespace sheaf::mpiio
