#include "comm/mpi_spares.hpp"

#include <bit>

#include "comm/mpi_comm_pieces.hpp"
#include "comm/mpi_patience.hpp"

namespace sheaf::mpi {

namespace {

using Holder = std::shared_ptr<Spares>;

int on_free(MPI_Comm comm, int, void* value, void*) {
  const std::unique_ptr<Holder> holder(static_cast<Holder*>(value));
  // These two go when MPI ends, when nothing may be called any more.
  (*holder)->retire(comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF);
  return MPI_SUCCESS;
}

// A communicator that the program duplicates begins without spares. MPI's own function for this is a macro or another
// symbol in each MPI, which the archive that serves both could not name.
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

void free_communicator(MPI_Comm comm) {
  int finalized = 0;
  if (MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized) MPI_Comm_free(&comm);
}

}  // namespace

std::shared_ptr<Spares> Spares::of(MPI_Comm comm) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  void* value = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(comm, attribute(), &value, &found), "MPI_Comm_get_attr");
  if (found) return *static_cast<Holder*>(value);
  auto holder = std::make_unique<Holder>(std::make_shared<Spares>());
  check(MPI_Comm_set_attr(comm, attribute(), holder.get()), "MPI_Comm_set_attr");
  return *holder.release();
}

Spares::Spare Spares::take(MPI_Comm comm) {
  uint64_t everywhere;
  {
    const std::lock_guard lock(mutex_);
    everywhere = free_;
  }
  // Threads of other multifiles may be giving back now: only what is free on all tasks can be had.
  patiently("MPI_Iallreduce", [&](MPI_Request* request) {
    return MPI_Iallreduce(MPI_IN_PLACE, &everywhere, 1, MPI_UINT64_T, MPI_BAND, comm, request);
  });
  if (everywhere != 0) {
    const int number = std::countr_zero(everywhere);
    const std::lock_guard lock(mutex_);
    free_ &= ~(uint64_t{1} << number);
    return {duplicates_[static_cast<size_t>(number)], number};
  }
  MPI_Comm copy = MPI_COMM_NULL;
  check(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
  const std::lock_guard lock(mutex_);
  if (duplicates_.size() == most) return {copy, -1};
  duplicates_.push_back(copy);
  return {copy, static_cast<int>(duplicates_.size()) - 1};
}

void Spares::give_back(Spare spare) {
  const std::lock_guard lock(mutex_);
  if (retired_ || spare.number < 0) {
    free_communicator(spare.comm);
  } else {
    free_ |= uint64_t{1} << spare.number;
  }
}

void Spares::retire(bool free_now) {
  const std::lock_guard lock(mutex_);
  retired_ = true;
  for (uint64_t left = free_; left != 0; left &= left - 1)
    if (free_now) free_communicator(duplicates_[static_cast<size_t>(std::countr_zero(left))]);
  free_ = 0;
}

}  // namespace sheaf::mpi
