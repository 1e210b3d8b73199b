// comm/mpi/mpi_comm_cache: a cache of duplicates of the program's communicator, for the next open.
//
// Every open multifile uses a communicator of its own, a duplicate of the program's. Creating a duplicate
// takes several rounds of messages among all tasks, and programs open files on the same communicator
// repeatedly. The cache therefore keeps unused duplicates. It is an attribute of the program's communicator,
// and freeing that communicator frees the duplicates. A communicator with the same tasks as MPI_COMM_WORLD
// uses the cache of MPI_COMM_WORLD if possible (of_world()).
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

  // of_world() returns the cache of MPI_COMM_WORLD if `comm` has the same tasks in the same order and the
  // threads of this task take turns in calling MPI; otherwise it returns null. If no task gets null, join()
  // makes `comm` use that cache. Both are local. HDF5, for example, opens each file on a new duplicate of the
  // program's communicator; without join(), each of these would start with an empty cache.
  static std::shared_ptr<CommCache> of_world(MPI_Comm comm);
  static void join(MPI_Comm comm, const std::shared_ptr<CommCache>& world);

  // Returns true if a duplicate was ever made; the same on all tasks.
  bool in_use() const { return !duplicates_.empty(); }

  struct Spare {
    MPI_Comm comm = MPI_COMM_NULL;
    int number = -1;  // index in the cache; -1: not cached, since the cache is full
    std::shared_ptr<MpiBarrier> barrier = nullptr;    // barrier of the tasks of `comm`; may be null
    std::shared_ptr<HostsReduction> hosts = nullptr;  // per-host barriers if the tasks are on several hosts
    std::shared_ptr<SharedMemory> memory = nullptr;   // shared memory of an earlier open
    std::shared_ptr<SplitCommCache> parts = nullptr;  // groups split from `comm`; null if not cached
  };

  // offer() and take() together acquire a duplicate, collectively over the communicator of this cache. The
  // caller passes to take() the flags that offer() returns on any task. The same reduction may include other
  // numbers of the caller.
  using TakenFlags = std::array<bool, max_cached>;  // true: the duplicate of this index cannot be acquired
  TakenFlags offer();
  // Returns a duplicate that is not in use on any task. Duplicates `comm` if all duplicates are in use.
  Spare take(MPI_Comm comm, const TakenFlags& taken);

  // Local. Returns a duplicate to the cache. Frees the duplicate instead if it is not cached, or if the
  // program has freed the communicator of this cache in the meantime.
  void give_back(const Spare& spare);

  // Notifies the cache that the program frees `freed`, a communicator that uses this cache. If `freed` owns
  // the cache, the cache frees the unused duplicates now and the others when they are given back.
  void retire(MPI_Comm freed);

  // Barrier of the tasks of the program's communicator, used to acquire a duplicate. Null until the first
  // duplicate is made, and if the tasks cannot share memory.
  std::shared_ptr<MpiBarrier> barrier;

  // Number of groups of tasks that share memory; 0 until the first open with this cache has counted them.
  int nodes = 0;

 private:
  const MPI_Comm owner_;  // the communicator with this cache as an attribute
  std::mutex mutex_;
  std::vector<Spare> duplicates_;        // in order of creation, which is the same on all tasks
  std::array<bool, max_cached> free_{};  // whether each duplicate is unused on this task
  bool retired_ = false;
};

}  // namespace sheaf::mpi
