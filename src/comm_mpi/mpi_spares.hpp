// comm_mpi/mpi_spares: duplicates of a program's communicator, kept with it for the next open.
//
// Every open multifile talks on a communicator of its own. Making one costs several rounds of messages among
// all tasks, and programs open on the same communicator again and again: a duplicate that is no longer in use
// waits as an attribute of the communicator it was made from, and is freed with that; or of MPI_COMM_WORLD,
// if that has the same tasks.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "comm_mpi/constants.hpp"
#include "comm_mpi/mpi_hosts.hpp"
#include "comm_mpi/mpi_meeting.hpp"
#include "comm_mpi/mpi_parts.hpp"

namespace sheaf::mpi {

class Spares {
 public:
  explicit Spares(MPI_Comm owner) : owner_(owner) {}

  // Those of `comm`, made at the first call. Local.
  static std::shared_ptr<Spares> of(MPI_Comm comm);

  // Those of MPI_COMM_WORLD, if `comm` has the same tasks in the same order and threads of this task take
  // turns in calling MPI; else null. If all tasks find them, `comm` may join them. HDF5, for one, opens each
  // file on a new duplicate of the program's communicator, and then need not begin anew. Both local.
  static std::shared_ptr<Spares> of_world(MPI_Comm comm);
  static void join(MPI_Comm comm, const std::shared_ptr<Spares>& world);

  // Whether a duplicate was ever made; the same on all tasks.
  bool in_use() const { return !duplicates_.empty(); }

  struct Spare {
    MPI_Comm comm = MPI_COMM_NULL;
    int number = -1;                                 // -1: one too many to be kept
    std::shared_ptr<Meeting> meeting = nullptr;      // of its tasks; may be null
    std::shared_ptr<HostsMeeting> hosts = nullptr;   // the same of several hosts
    std::shared_ptr<SharedMemory> memory = nullptr;  // that they have shared before
    std::shared_ptr<Parts> parts = nullptr;          // made from it; null if it is not kept
  };

  // Taking one is collective over the communicator these belong to, in two steps. What all tasks bring to the
  // first is combined by the maximum, by the caller, who may have other numbers to combine; the second takes
  // the result.
  std::array<int64_t, most_spares> offer();
  // A duplicate that no open multifile uses on any task; a new one, at the price of a duplication, if there
  // is none.
  Spare take(MPI_Comm comm, std::span<const int64_t, most_spares> largest);

  // Local. Frees it if it cannot be kept or the program has freed its communicator meanwhile.
  void give_back(const Spare& spare);

  // The program frees a communicator that holds these: if they are its own, nothing is lent any more, and
  // what is not in use goes at once.
  void retire(MPI_Comm freed);

  // Where the tasks of the program's communicator meet to take one; null before the first time, or for good.
  std::shared_ptr<Meeting> meeting;

  // Groups of tasks that share memory; 0 until they are counted, by who takes the first.
  int nodes = 0;

 private:
  const MPI_Comm owner_;  // whose attribute these are
  std::mutex mutex_;
  std::vector<Spare> duplicates_;         // in the order they were made, which is the same on all tasks
  std::array<bool, most_spares> free_{};  // which are not in use here
  bool retired_ = false;
};

}  // namespace sheaf::mpi
