// sharedfile/across_hosts: what it means for a shared file that its tasks are on several hosts. Task 0 finds
// it once, and all go by it.
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
  int hosts = 1;  // that tasks of the file are on; not asked for, and 1, where they share a page cache anyway

  // Other hosts see what was synced only if they look again.
  bool apart() const { return coherence == Coherence::close_to_open; }
  // Two tasks of the file may have page caches of their own.
  bool caches() const { return apart() && hosts > 1; }
  // Each transfer is published by itself.
  bool at_once() const { return !finds_own_writes(kind); }
  // Handles that write know of each other (exchange/transfer/other_handles).
  bool marks_handles() const { return apart() && locks == LockScope::global; }
  // A lock keeps out every task of the file.
  bool excludes() const {
    return coherence == Coherence::local || locks == LockScope::global ||
           (hosts == 1 && locks == LockScope::host);
  }

  // Throws unsupported unless locks exclude.
  void require_locks(const std::string& path) const;

  // Writes read nothing in order to write it back where somebody else might write there; in collective ones a
  // unit has one writer.
  void apply(exchange::IndependentOptions& how, bool writes) const;
  void apply(exchange::CollectiveOptions& how, bool writes) const;

  // Collective. The last user of a part of a striped file sets its length; without listeners every task is
  // that, and none must do so while others write. Returns what went wrong here.
  std::optional<Error> meet_before_close(File& file, Comm& comm, bool writes) const;

  // The file as its tasks shall use it.
  std::shared_ptr<File> wrap(std::shared_ptr<File> file) const;
};

// Collective where hosts do not share a page cache, else local.
AcrossHosts across_hosts(const FileSystemTraits& traits, Comm& comm);

// Local; task 0 creates the file, in stripes as `wanted` if that is wished, and finds the `traits` of the
// file system, which stay as they are if it cannot; the others open what it has opened. On hosts with caches
// of their own a name that was made, or removed and made anew, just before is tried for 5 s at most.
std::shared_ptr<File> open_first(Store& store, const std::string& path, const SharedMode& mode,
                                 const Striping& wanted, FileSystemTraits& traits);
std::shared_ptr<File> open_next(Store& store, const std::string& path, const SharedMode& mode, bool apart);

}  // namespace sheaf
