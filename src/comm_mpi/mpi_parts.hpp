// comm_mpi/mpi_parts: communicators made from one of ours, kept with it for the next open.
//
// Programs open files again and again, and each open that splits its tasks by host or by file splits them as
// the one before did. A split takes messages from all tasks to all; that the part of the last open will do is
// found with one reduction. Parts are kept with the duplicate of the program's communicator (mpi_spares) that
// they were made from, and go with it.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

namespace sheaf::mpi {

class Parts {
 public:
  enum class How : uint8_t { split, by_memory, duplicate };
  struct Wish {
    How how = How::split;
    int color = 0;  // of a split; negative: this task is in no part
    int key = 0;
    bool operator==(const Wish&) const = default;
  };

  // Collective over `from`. MPI_COMM_NULL for a task that is in no part.
  static MPI_Comm make(MPI_Comm from, const Wish& wish);

  // Whether none is kept; the same on all tasks.
  bool empty() const { return count_ == 0; }

  // Taking one is collective over the communicator these belong to, in two steps: what all tasks bring to the
  // first is combined by the maximum, the second takes the result. Returns the number of a part that is as
  // all tasks wish and in use on none of them; -1: there is none.
  static constexpr size_t most = 6;
  using Offer = std::array<int64_t, 2 * most>;
  Offer offer(const Wish& wish);
  int take(const Offer& largest);

  // Collective, in the same sense: keeps a new part, which is in use, in the place of an old one if there are
  // too many. Its number; -1: it cannot be kept. `largest`: what take() was given; {}: none was kept.
  int keep(const Wish& wish, MPI_Comm made, const Offer& largest);

  MPI_Comm comm(int number) const { return kept_[static_cast<size_t>(number)].comm; }
  // The parts made from a part.
  Parts& of(int number) const { return *kept_[static_cast<size_t>(number)].parts; }

  // Local; from any thread.
  void give_back(int number);

  // Collective in MPI's eyes; none is in use.
  void free();

 private:
  struct Part {
    Wish wish;
    MPI_Comm comm = MPI_COMM_NULL;
    bool used = false;
    std::unique_ptr<Parts> parts;
  };

  bool any_in_use();

  std::mutex mutex_;             // guards what is used
  std::array<Part, most> kept_;  // the first `count_`; the same places on all tasks
  size_t count_ = 0;
  size_t oldest_ = 0;
};

}  // namespace sheaf::mpi
