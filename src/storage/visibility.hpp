// storage/visibility: when tasks on several hosts see each other's writes to a file.
#pragma once

#include <cstdint>

#include "storage/file.hpp"
#include "storage/filesystem/traits.hpp"

namespace sheaf {

// Visibility policy of an open file: the traits of its file system, and the number of hosts that its tasks
// are on. One task determines the traits at the open; all tasks then have the same policy. The functions are
// local.
struct VisibilityPolicy : FileSystemTraits {
  int hosts = 1;  // always 1 if one page cache serves all tasks that can open the file

  // Returns true if the page cache of a task may lack writes of other hosts. Tasks then publish what others
  // are to read, and others revalidate before they read it.
  bool has_own_caches() const { return needs_revalidation() && hosts > 1; }
  // Returns the shared granularity in bytes: each unit of this size must have a single host that writes it.
  // 0: hosts may share every block.
  int64_t unit_per_host() const { return has_own_caches() ? unit : 0; }
  // Returns true if a task keeps the bytes that it has written, and reads them from the cache of its host
  // until others publish. Returns false if it must publish each transfer on its own, because it does not see
  // its own writes until they are published.
  bool keeps_own_writes() const { return finds_own_writes(kind); }
  // Returns true if a lock excludes all other tasks of the file.
  bool excludes() const {
    return is_local() || locks == LockScope::global || (hosts == 1 && locks == LockScope::host);
  }
  // Returns true if a lock also excludes tasks of other opens on other hosts, which may have other caches.
  bool excludes_other_opens() const { return needs_revalidation() && locks == LockScope::global; }
  // Returns false if a write must not read bytes and write them back, because another task might write there.
  // That may be a task of another open on another host, such as those that PnetCDF makes with MPI_COMM_SELF.
  // A lock does not help: the bytes may come from this host's cache.
  bool may_sieve_writes() const { return !needs_revalidation() && excludes(); }

  // Publish the writes of this task, or revalidate: later reads return bytes that were at the server at the
  // time of the call. No effect without own caches. Throw the errors of File::sync().
  void publish(File& file) const {
    if (has_own_caches()) file.publish();
  }
  void revalidate(File& file) const {
    if (has_own_caches()) file.revalidate();
  }
};

}  // namespace sheaf
