#include "comm/mpi/mpi_comm_cache.hpp"

#include <utility>

#include "comm/mpi/mpi_calls.hpp"

namespace sheaf::mpi {

namespace {

using CommCachePointer = std::shared_ptr<CommCache>;

int on_free(MPI_Comm comm, int, void* value, void*) {
  const std::unique_ptr<CommCachePointer> holder(static_cast<CommCachePointer*>(value));
  (*holder)->retire(comm);
  return MPI_SUCCESS;
}

// Lets a duplicate that the program makes start without the cache. Replaces MPI_COMM_NULL_COPY_FN, which is a
// macro or a different symbol in each MPI, so that a library for several MPIs cannot refer to it.
int on_copy(MPI_Comm, int, void*, void*, void*, int* copied) {
  *copied = 0;
  return MPI_SUCCESS;
}

int attribute() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(on_copy, on_free, &made, nullptr), "MPI_Comm_create_keyval");
    return made;
  }();
  return key;
}

// Returns the attribute of the communicator, which holds its cache; null if it has none yet.
CommCachePointer* holder_of(MPI_Comm comm) {
  void* value = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(comm, attribute(), &value, &found), "MPI_Comm_get_attr");
  return found ? static_cast<CommCachePointer*>(value) : nullptr;
}

void free_spare(const CommCache::Spare& spare) {
  if (spare.parts) spare.parts->free();
  if (spare.hosts) spare.hosts->free();
  free_own(spare.comm);
}

std::mutex attributes;  // guards the attributes

}  // namespace

std::shared_ptr<CommCache> CommCache::of(MPI_Comm comm) {
  const std::lock_guard lock(attributes);
  if (const CommCachePointer* const known = holder_of(comm)) return *known;
  auto holder = std::make_unique<CommCachePointer>(std::make_shared<CommCache>(comm));
  check(MPI_Comm_set_attr(comm, attribute(), holder.get()), "MPI_Comm_set_attr");
  return *holder.release();
}

// If threads take turns in calling MPI, all tasks open their files in the same order, whatever communicators
// they use. Only then can communicators share one cache.
std::shared_ptr<CommCache> CommCache::of_world(MPI_Comm comm) {
  int level = MPI_THREAD_MULTIPLE;
  int found = MPI_UNEQUAL;
  check(MPI_Query_thread(&level), "MPI_Query_thread");
  if (level == MPI_THREAD_MULTIPLE || comm == MPI_COMM_WORLD) return nullptr;
  check(MPI_Comm_compare(comm, MPI_COMM_WORLD, &found), "MPI_Comm_compare");
  return found == MPI_CONGRUENT ? of(MPI_COMM_WORLD) : nullptr;
}

void CommCache::join(MPI_Comm comm, const std::shared_ptr<CommCache>& world) {
  const std::lock_guard lock(attributes);
  if (CommCachePointer* const known = holder_of(comm)) *known = world;
}

CommCache::TakenFlags CommCache::offer() {
  const std::lock_guard lock(mutex_);
  TakenFlags taken;
  for (size_t i = 0; i < free_.size(); ++i) taken[i] = !free_[i];
  return taken;
}

// Threads with other multifiles may return duplicates between offer() and take(). So only the duplicates that
// all tasks have offered may be taken.
CommCache::Spare CommCache::take(MPI_Comm comm, const TakenFlags& taken) {
  for (size_t i = 0; i < free_.size(); ++i) {
    if (taken[i]) continue;
    const std::lock_guard lock(mutex_);
    free_[i] = false;
    return duplicates_[i];
  }
  const size_t number = duplicates_.size();
  Spare made{duplicate_of(comm)};
  if (number == max_cached) return made;
  made.number = static_cast<int>(number);
  made.parts = std::make_shared<SplitCommCache>();
  if (number == 0) {
    const auto barriers = MpiBarrier::several(made.comm, 2, made.comm);
    barrier = barriers.front();
    made.barrier = barriers.back();
  } else if (barrier) {
    made.barrier = MpiBarrier::several(made.comm, 1, made.comm).front();
  }
  if (!barrier && size_of(made.comm) > 1) made.hosts = std::make_shared<HostsReduction>(made.comm);
  const std::lock_guard lock(mutex_);
  return duplicates_.emplace_back(made);
}

void CommCache::give_back(const Spare& spare) {
  const std::lock_guard lock(mutex_);
  if (retired_ || spare.number < 0) {
    free_spare(spare);
  } else {
    duplicates_[static_cast<size_t>(spare.number)].memory = spare.memory;
    free_[static_cast<size_t>(spare.number)] = true;
  }
}

void CommCache::retire(MPI_Comm freed) {
  if (freed != owner_) return;
  // MPI frees these two communicators in MPI_Finalize, when the cache must not call MPI any more.
  const bool free_now = freed != MPI_COMM_WORLD && freed != MPI_COMM_SELF;
  const std::lock_guard lock(mutex_);
  retired_ = true;
  for (size_t i = 0; i < free_.size(); ++i)
    if (std::exchange(free_[i], false) && free_now) free_spare(duplicates_[i]);
}

}  // namespace sheaf::mpi
