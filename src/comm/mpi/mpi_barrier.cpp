#include "comm/mpi/mpi_barrier.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "comm/mpi/mpi_calls.hpp"
#include "comm/mpi/mpi_shared_memory.hpp"
#include "comm/packing.hpp"

namespace sheaf::mpi {

std::vector<std::shared_ptr<MpiBarrier>> MpiBarrier::several(MPI_Comm comm, int count, MPI_Comm all) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  std::vector<std::shared_ptr<MpiBarrier>> barriers(static_cast<size_t>(count));
  if (size == 1 || size > ShmBarrier::max_tasks) return barriers;
  const size_t each = ShmBarrier::memory_size(size);
  const std::shared_ptr<SharedMemory> memory = share_memory(comm, each * barriers.size());
  for (size_t i = 0; memory && i < barriers.size(); ++i)
    barriers[i] = std::make_shared<MpiBarrier>(all, memory, memory->bytes().data() + i * each, rank, size);
  return barriers;
}

// While waiting, probes for messages to let MPI make progress. The result of the probe is not used. The probe
// needs a communicator of all tasks, because MPICH makes no progress in a probe on MPI_COMM_SELF.
bool MpiBarrier::arrive_and_wait(std::span<const std::byte> mine) {
  return tasks_.arrive_and_wait(mine, [this] {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE);
  });
}

// Calls join(index, value, rank) for each value of each task, in rank order. Returns false, as
// arrive_and_wait() does, if the values exceed the limit.
template <class Join>
bool MpiBarrier::combine(std::span<const int64_t> mine, Join join) {
  if (!arrive_and_wait(std::as_bytes(mine))) return false;
  for (int r = 0; r < tasks_.size(); ++r) {
    auto values = tasks_.of(r);
    for (size_t i = 0; i < mine.size(); ++i) join(i, take<int64_t>(values), r);
  }
  return true;
}

bool MpiBarrier::reduce(Reduction how, std::span<int64_t> values) {
  return combine(values, [&](size_t i, int64_t value, int r) {
    const bool counts = how != Reduction::exclusive_scan || r < tasks_.rank();
    const int64_t first = how == Reduction::max ? INT64_MIN : 0;
    const int64_t known = r == 0 ? first : values[i];
    values[i] = !counts ? known : how == Reduction::max ? std::max(known, value) : known + value;
  });
}

bool MpiBarrier::prefix_sum_and_total(std::span<int64_t> values, std::span<int64_t> totals) {
  return combine(values, [&](size_t i, int64_t value, int r) {
    if (r == 0) values[i] = totals[i] = 0;
    if (r < tasks_.rank()) values[i] += value;
    totals[i] += value;
  });
}

bool MpiBarrier::broadcast(std::span<std::byte> data, int root) {
  if (!arrive_and_wait(tasks_.rank() == root ? data : std::span<std::byte>())) return false;
  SHEAF_ASSERT(tasks_.of(root).size() == data.size());  // equal on all tasks
  if (tasks_.rank() != root) std::ranges::copy(tasks_.of(root).first(data.size()), data.begin());
  return true;
}

bool MpiBarrier::gather(std::span<const std::byte> mine, Gathered& joined, int root) {
  if (!arrive_and_wait(mine)) return false;
  if (tasks_.rank() != root) return true;
  for (int r = 0; r < tasks_.size(); ++r) joined.add(tasks_.of(r));
  return true;
}

bool MpiBarrier::scatter(const Gathered& pieces, int64_t& length, std::vector<std::byte>& mine, int root) {
  if (!arrive_and_wait(tasks_.rank() == root ? pieces.packed() : std::vector<std::byte>())) return false;
  const Gathered all = Gathered::unpacked(tasks_.of(root), static_cast<size_t>(tasks_.size()));
  const auto own = static_cast<size_t>(tasks_.rank());
  length = all.sizes[own];
  if (length < 0) return true;
  const auto piece = all.pieces()[own];
  mine.assign(piece.begin(), piece.end());
  return true;
}

bool MpiBarrier::scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root) {
  if (!arrive_and_wait(tasks_.rank() == root ? pieces : std::span<const std::byte>())) return false;
  SHEAF_ASSERT(tasks_.of(root).size() == mine.size() * static_cast<size_t>(tasks_.size()));
  std::ranges::copy(tasks_.of(root).subspan(mine.size() * static_cast<size_t>(tasks_.rank()), mine.size()),
                    mine.begin());
  return true;
}

}  // namespace sheaf::mpi
