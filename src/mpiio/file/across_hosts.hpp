// mpiio/file/across_hosts: consequences of having the tasks of a shared file on several hosts. Task 0
// determines them once, and all tasks use them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "exchange/collective.hpp"
#include "storage/store.hpp"

namespace sheaf {

struct SharedMode;

struct AcrossHosts : FileSystemTraits {
  int hosts = 1;  // hosts of the file's tasks; always 1 where the tasks share a page cache anyway

  // Returns true if other hosts must revalidate before they see synced bytes.
  bool apart() const { return coherence == Coherence::close_to_open; }
  // Returns true if two tasks of the file may have different page caches.
  bool caches() const { return apart() && hosts > 1; }
  // Returns true if each transfer is published on its own.
  bool at_once() const { return !finds_own_writes(kind); }
  // Returns true if writing handles announce themselves to each other (exchange/transfer/concurrent_openers).
  bool marks_handles() const { return apart() && locks == LockScope::global; }
  // Returns true if a lock excludes all other tasks of the file.
  bool excludes() const {
    return coherence == Coherence::local || locks == LockScope::global ||
           (hosts == 1 && locks == LockScope::host);
  }

  // Throws unsupported unless excludes().
  void require_locks(const std::string& path) const;

  // Adapts the options: no write reads bytes in order to write them back where another task might write. In
  // collective writes, each unit has one writer.
  void apply(exchange::IndependentOptions& how, bool writes) const;
  void apply(exchange::CollectiveOptions& how, bool writes) const;

  // Collective. Synchronizes the tasks before they close a striped file, where the last user of a subfile
  // sets its length. Without I/O listeners every task is such a user, and none must set a length while others
  // write. Returns the error of this task.
  std::optional<Error> meet_before_close(File& file, Comm& comm, bool writes) const;

  // Returns the file with the decorators that tasks on these hosts need.
  std::shared_ptr<File> wrap(std::shared_ptr<File> file) const;
};

// Collective where hosts do not share a page cache, else local.
AcrossHosts across_hosts(const FileSystemTraits& traits, Comm& comm);

// Local. Task 0 calls open_first(), which creates the file, striped as `wanted` if that is set, and
// determines `traits` (unchanged on failure). The other tasks call open_next() on the existing file. On hosts
// with separate page caches, both retry for up to 5 s, because a name that was just created or replaced may
// not be visible yet.
std::shared_ptr<File> open_first(Store& store, const std::string& path, const SharedMode& mode,
                                 const Striping& wanted, FileSystemTraits& traits);
std::shared_ptr<File> open_next(Store& store, const std::string& path, const SharedMode& mode, bool apart);

}  // namespace sheaf
