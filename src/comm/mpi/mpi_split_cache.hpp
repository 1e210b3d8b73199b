// comm/mpi/mpi_split_cache: caches communicators that an open has split off, for reuse by later opens.
//
// Programs open files repeatedly, and each open splits its tasks by host or by file in the same way. Creating
// such a communicator, called a *part* here, exchanges messages among all tasks. Finding a matching part in
// the cache takes one reduction. A part is made from a duplicate of the program's communicator
// (comm/mpi/mpi_comm_cache) or from another part. It is freed together with its origin.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

namespace sheaf::mpi {

class SplitCommCache {
 public:
  enum class How : uint8_t { split, shared_memory, duplicate };
  struct SplitCommRequest {
    How how = How::split;
    int color = 0;  // color of a split; negative: this task is in no part
    int key = 0;
    bool operator==(const SplitCommRequest&) const = default;
  };

  // Creates a new communicator from `from` as `request` describes. Collective over `from`. Returns
  // MPI_COMM_NULL on a task that is in no part.
  static MPI_Comm make(MPI_Comm from, const SplitCommRequest& request);

  // Returns true if no part is cached; the same on all tasks.
  bool empty() const { return count_ == 0; }

  // offer() and take() together acquire a cached part. The caller combines the offer() results of all tasks
  // (comm/reduce.hpp) and passes the result to take(). take() returns the number of a part that
  // matches on all tasks and is in use on none, or -1 if there is no such part. Collective over the
  // communicator from which the parts were made.
  static constexpr size_t most = 6;
  struct SplitOffer {
    std::array<bool, most> unfit{};   // the part does not match, or it is in use
    std::array<bool, most> in_use{};  // the part, or one made from it, is in use
    constexpr void combine(auto& by) { by.max(unfit).max(in_use); }
  };
  SplitOffer offer(const SplitCommRequest& request);
  int take(const SplitOffer& combined);

  // Caches the new part `made` and marks it as in use. If the cache is full, first frees an old part that is
  // in use on no task. Returns the number of the new part, or -1 if all cached parts are in use. `combined`
  // is the argument of take(), or {} if the cache was empty. Collective like take().
  int keep(const SplitCommRequest& request, MPI_Comm made, const SplitOffer& combined);

  MPI_Comm comm(int number) const { return kept_[static_cast<size_t>(number)].comm; }
  // Returns the cache of communicators that were made from part `number`.
  SplitCommCache& of(int number) const { return *kept_[static_cast<size_t>(number)].parts; }

  // Marks a part as not in use. Local; any thread may call it.
  void give_back(int number);

  // Frees all parts, none of which may be in use. Collective, because MPI_Comm_free() is.
  void free();

 private:
  struct CachedSplit {
    SplitCommRequest request;
    MPI_Comm comm = MPI_COMM_NULL;
    bool used = false;
    std::unique_ptr<SplitCommCache> parts;
  };

  bool any_in_use();

  std::mutex mutex_;                    // guards the `used` flags
  std::array<CachedSplit, most> kept_;  // the first `count_` are valid; same index on all tasks
  size_t count_ = 0;
  size_t oldest_ = 0;
};

}  // namespace sheaf::mpi
