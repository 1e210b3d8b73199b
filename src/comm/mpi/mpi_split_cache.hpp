// comm/mpi/mpi_split_cache: a cache of communicators split from one of Sheaf's, for the next open.
//
// Programs open files repeatedly, and each open splits its tasks by host or by file in the same way. A split
// takes messages between all tasks; one reduction determines whether a cached part matches. Parts are stored
// with the duplicate of the program's communicator (mpi_spares) they were made from, and freed with it.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

namespace sheaf::mpi {

class SplitCommCache {
 public:
  enum class How : uint8_t { split, by_memory, duplicate };
  struct SplitRequest {
    How how = How::split;
    int color = 0;  // color of a split; negative: this task is in no part
    int key = 0;
    bool operator==(const SplitRequest&) const = default;
  };

  // Collective over `from`. Returns MPI_COMM_NULL on a task that is in no part.
  static MPI_Comm make(MPI_Comm from, const SplitRequest& wish);

  // Returns true if no part is cached; the same on all tasks.
  bool empty() const { return count_ == 0; }

  // Acquires a part, collectively over the communicator that the parts belong to, in two steps. The caller
  // combines the results of offer() by their maximum over all tasks and passes that to take(). Returns the
  // number of a part that matches on all tasks and is in use on none; -1 if there is no such part.
  static constexpr size_t most = 6;
  using Offer = std::array<int64_t, 2 * most>;
  Offer offer(const SplitRequest& wish);
  int take(const Offer& largest);

  // Collective in the same sense. Caches a new part, which is in use, and replaces an old one if the cache is
  // full. Returns its number, or -1 if it cannot be cached. `largest`: the argument of take(); {} if the
  // cache was empty.
  int keep(const SplitRequest& wish, MPI_Comm made, const Offer& largest);

  MPI_Comm comm(int number) const { return kept_[static_cast<size_t>(number)].comm; }
  // Returns the parts made from a part.
  SplitCommCache& of(int number) const { return *kept_[static_cast<size_t>(number)].parts; }

  // Local and thread-safe.
  void give_back(int number);

  // Frees all parts. Collective in the sense of MPI. No part may be in use.
  void free();

 private:
  struct Part {
    SplitRequest wish;
    MPI_Comm comm = MPI_COMM_NULL;
    bool used = false;
    std::unique_ptr<SplitCommCache> parts;
  };

  bool any_in_use();

  std::mutex mutex_;             // guards the `used` flags
  std::array<Part, most> kept_;  // the first `count_` are valid; same index on all tasks
  size_t count_ = 0;
  size_t oldest_ = 0;
};

}  // namespace sheaf::mpi
