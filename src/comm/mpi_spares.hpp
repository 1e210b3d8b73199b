// comm/mpi_spares: duplicates of a program's communicator, kept with it for the next open.
//
// Every open multifile talks on a communicator of its own. Making one costs several rounds of messages among all
// tasks, and programs open on the same communicator again and again: a duplicate that is no longer in use waits as an
// attribute of the communicator it was made from, and is freed with that.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace sheaf::mpi {

class Spares {
 public:
  // Those of `comm`, made at the first call. Local.
  static std::shared_ptr<Spares> of(MPI_Comm comm);

  // Collective over `comm`, the communicator these belong to: a duplicate that no open multifile uses on any task, or
  // a new one. One reduction; a duplication if there is none.
  struct Spare {
    MPI_Comm comm;
    int number;  // -1: one too many to be kept
  };
  Spare take(MPI_Comm comm);

  // Local. Frees it if it cannot be kept or the program has freed its communicator meanwhile.
  void give_back(Spare spare);

  // The program frees its communicator: nothing is lent any more. `free_now`: what is not in use goes at once.
  void retire(bool free_now);

  // Groups of tasks that share memory; 0 until somebody has found out.
  int nodes = 0;

 private:
  static constexpr int most = 64;

  std::mutex mutex_;
  std::vector<MPI_Comm> duplicates_;  // in the order they were made, which is the same on all tasks
  uint64_t free_ = 0;                 // bit n: duplicate n is not in use here
  bool retired_ = false;
};

}  // namespace sheaf::mpi
