#include "comm/mpi/mpi_split_cache.hpp"

#include <algorithm>
#include <utility>

#include "comm/mpi/mpi_calls.hpp"
#include "comm/mpi/mpi_timeout.hpp"

namespace sheaf::mpi {

MPI_Comm SplitCommCache::make(MPI_Comm from, const SplitCommRequest& request) {
  MPI_Comm made = MPI_COMM_NULL;
  // The calls below are blocking, so all tasks must have arrived before they start.
  with_retries("MPI_Ibarrier", [&](MPI_Request* pending) { return MPI_Ibarrier(from, pending); });
  switch (request.how) {
    case How::split:
      check(MPI_Comm_split(from, request.color < 0 ? MPI_UNDEFINED : request.color, request.key, &made),
            "MPI_Comm_split");
      break;
    case How::shared_memory:
      check(MPI_Comm_split_type(from, MPI_COMM_TYPE_SHARED, request.key, MPI_INFO_NULL, &made),
            "MPI_Comm_split_type");
      break;
    case How::duplicate:
      check(MPI_Comm_dup(from, &made), "MPI_Comm_dup");
      break;
  }
  if (made != MPI_COMM_NULL)
    check(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return made;
}

SplitCommCache::SplitOffer SplitCommCache::offer(const SplitCommRequest& request) {
  const std::lock_guard lock(mutex_);
  SplitOffer offered;
  for (size_t i = 0; i < count_; ++i) {
    offered.unfit[i] = kept_[i].used || kept_[i].request != request;
    offered.in_use[i] = kept_[i].used || kept_[i].parts->any_in_use();
  }
  return offered;
}

bool SplitCommCache::any_in_use() {
  const std::lock_guard lock(mutex_);
  return std::any_of(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(count_),
                     [](const CachedSplit& part) { return part.used || part.parts->any_in_use(); });
}

int SplitCommCache::take(const SplitOffer& combined) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < count_; ++i) {
    if (combined.unfit[i]) continue;
    kept_[i].used = kept_[i].comm != MPI_COMM_NULL;
    return static_cast<int>(i);
  }
  return -1;
}

int SplitCommCache::keep(const SplitCommRequest& request, MPI_Comm made, const SplitOffer& combined) {
  const std::lock_guard lock(mutex_);
  size_t place = count_;
  if (count_ < most) {
    ++count_;
  } else {
    for (size_t tried = 0; tried < most && combined.in_use[oldest_]; ++tried) oldest_ = (oldest_ + 1) % most;
    if (combined.in_use[oldest_]) return -1;
    place = std::exchange(oldest_, (oldest_ + 1) % most);
    kept_[place].parts->free();
    free_own(kept_[place].comm);
  }
  kept_[place] = {request, made, made != MPI_COMM_NULL, std::make_unique<SplitCommCache>()};
  return static_cast<int>(place);
}

void SplitCommCache::give_back(int number) {
  const std::lock_guard lock(mutex_);
  kept_[static_cast<size_t>(number)].used = false;
}

void SplitCommCache::free() {
  for (; count_ > 0; --count_) {
    CachedSplit& part = kept_[count_ - 1];
    part.parts->free();
    free_own(part.comm);
  }
}

}  // namespace sheaf::mpi
