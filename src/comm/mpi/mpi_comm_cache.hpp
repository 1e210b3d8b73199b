// comm/mpi/mpi_comm_cache: a cache of duplicates of the program's communicator, for the next open.
//
// Every open multifile uses a communicator of its own. Creating one takes several rounds of messages among
// all tasks, and programs open files on the same communicator repeatedly. A duplicate that is no longer in
// use is therefore kept as an attribute of the communicator it was made from, and is freed with it. If
// MPI_COMM_WORLD has the same tasks, the duplicate is kept there.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "comm/mpi/constants.hpp"
#include "comm/mpi/mpi_barrier.hpp"
#include "comm/mpi/mpi_hosts.hpp"
#include "comm/mpi/mpi_split_cache.hpp"

namespace sheaf::mpi {

class CommCache {
 public:
  explicit CommCache(MPI_Comm owner) : owner_(owner) {}

  // Local. Returns the cache of `comm`, created at the first call.
  static std::shared_ptr<CommCache> of(MPI_Comm comm);

  // Both local. of_world() returns the cache of MPI_COMM_WORLD if `comm` has the same tasks in the same order
  // and the threads of this task take turns in calling MPI; otherwise null. If no task gets null, join() lets
  // `comm` use that cache. HDF5, for example, opens each file on a new duplicate of the program's
  // communicator, which would start with an empty cache.
  static std::shared_ptr<CommCache> of_world(MPI_Comm comm);
  static void join(MPI_Comm comm, const std::shared_ptr<CommCache>& world);

  // Returns true if a duplicate was ever made; the same on all tasks.
  bool in_use() const { return !duplicates_.empty(); }

  struct Spare {
    MPI_Comm comm = MPI_COMM_NULL;
    int number = -1;                                  // -1: in excess of max_spares, not cached
    std::shared_ptr<Meeting> meeting = nullptr;       // barrier of its tasks; may be null
    std::shared_ptr<HostsMeeting> hosts = nullptr;    // per-host barriers if the tasks are on several hosts
    std::shared_ptr<SharedMemory> memory = nullptr;   // shared memory of an earlier open
    std::shared_ptr<SplitCommCache> parts = nullptr;  // groups split from it; null if it is not cached
  };

  // Acquires a duplicate, collectively over the communicator of this cache, in two steps. The caller combines
  // the results of offer() by their maximum over all tasks, together with numbers of its own, and passes the
  // result to take().
  std::array<int64_t, max_spares> offer();
  // Returns a duplicate that is not in use on any task. Duplicates `comm` if all duplicates are in use.
  Spare take(MPI_Comm comm, std::span<const int64_t, max_spares> largest);

  // Local. Returns a duplicate to the cache. Frees it instead if it cannot be cached or the program has freed
  // its communicator in the meantime.
  void give_back(const Spare& spare);

  // Notifies the cache that the program frees a communicator with this cache. If that is its owner, the cache
  // hands out none of its duplicates any more, and frees the unused ones.
  void retire(MPI_Comm freed);

  // Barrier of the tasks of the program's communicator, used to acquire a duplicate. Null before the first
  // one is made, and if the tasks cannot share memory.
  std::shared_ptr<Meeting> meeting;

  // Groups of tasks that share memory. 0 until the first group with this cache has counted them.
  int nodes = 0;

 private:
  const MPI_Comm owner_;  // the communicator with this cache as an attribute
  std::mutex mutex_;
  std::vector<Spare> duplicates_;        // in order of creation, which is the same on all tasks
  std::array<bool, max_spares> free_{};  // whether each duplicate is unused on this task
  bool retired_ = false;
};

}  // namespace sheaf::mpi
