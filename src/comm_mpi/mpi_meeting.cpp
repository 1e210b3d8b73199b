#include "comm_mpi/mpi_meeting.hpp"

#include <algorithm>
#include <utility>

#include "base/byte_order.hpp"
#include "comm_mpi/mpi_comm_pieces.hpp"
#include "comm_mpi/mpi_patience.hpp"

namespace sheaf::mpi {

int count_nodes(MPI_Comm comm, Parts& parts) {
  const int size = size_of(comm);
  if (size == 1) return 1;
  meet(comm);
  const Parts::Wish wish{Parts::How::by_memory, 0, rank_in(comm)};
  MPI_Comm node = Parts::make(comm, wish);
  int nodes = rank_in(node) == 0;
  if (size_of(node) == size) {  // and so it is on all tasks
    MPI_Comm_free(&node);
    return 1;
  }
  parts.give_back(parts.keep(wish, node, {}));
  patiently("MPI_Iallreduce", [&](MPI_Request* request) {
    return MPI_Iallreduce(MPI_IN_PLACE, &nodes, 1, MPI_INT, MPI_SUM, comm, request);
  });
  return nodes;
}

std::vector<std::shared_ptr<Meeting>> Meeting::several(MPI_Comm comm, int count) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  std::vector<std::shared_ptr<Meeting>> meetings(static_cast<size_t>(count));
  if (size == 1 || size > SharedMeeting::most_tasks) return meetings;
  const size_t each = SharedMeeting::memory_size(size);
  const std::shared_ptr<SharedMemory> memory =
      share_memory(over_messages(comm), rank, each * meetings.size());
  for (size_t i = 0; memory && i < meetings.size(); ++i)
    meetings[i] = std::make_shared<Meeting>(comm, memory, memory->bytes().data() + i * each, rank, size);
  return meetings;
}

// Looks for a message that nobody sends, on a communicator of all tasks: for MPI_COMM_SELF MPICH looks
// without moving anything on.
bool Meeting::wait() {
  return tasks_.wait([this] {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE);
  });
}

bool Meeting::meet(std::span<const std::byte> mine) {
  tasks_.come(mine);
  return wait();
}

// join(index, value, rank) for the numbers of all tasks, `count` of each, rank by rank.
template <class Join>
void Meeting::join_all(size_t count, Join join) {
  for (int r = 0; r < tasks_.size(); ++r)
    for (size_t i = 0; i < count; ++i)
      join(i, load<int64_t>(tasks_.of(r).data() + i * sizeof(int64_t), native_order), r);
}

template <class Join>
bool Meeting::combine(std::span<const int64_t> mine, Join join) {
  if (!meet(std::as_bytes(mine))) return false;
  join_all(mine.size(), join);
  return true;
}

bool Meeting::reduce(Reduction how, std::span<int64_t> values) {
  return combine(values, [&](size_t i, int64_t value, int r) {
    const bool counts = how != Reduction::sum_before || r < tasks_.rank();
    const int64_t first = how == Reduction::max ? INT64_MIN : 0;
    const int64_t known = r == 0 ? first : values[i];
    values[i] = !counts ? known : how == Reduction::max ? std::max(known, value) : known + value;
  });
}

bool Meeting::prefix_sum_and_total(std::span<int64_t> values, std::span<int64_t> totals) {
  return combine(values, [&](size_t i, int64_t value, int r) {
    if (r == 0) values[i] = totals[i] = 0;
    if (r < tasks_.rank()) values[i] += value;
    totals[i] += value;
  });
}

bool Meeting::broadcast(std::span<std::byte> data, int root) {
  if (!meet(tasks_.rank() == root ? data : std::span<std::byte>())) return false;
  if (tasks_.rank() != root) std::ranges::copy(tasks_.of(root).first(data.size()), data.begin());
  return true;
}

bool Meeting::gather(std::span<const std::byte> mine, Gathered& joined, int root) {
  if (!meet(mine)) return false;
  if (tasks_.rank() != root) return true;
  for (int r = 0; r < tasks_.size(); ++r) joined.add(tasks_.of(r));
  return true;
}

// The root lays out all sizes, then all pieces.
bool Meeting::scatter(std::span<const int64_t> sizes, std::span<const std::byte> bytes, int64_t& length,
                      std::vector<std::byte>& mine, int root) {
  std::vector<std::byte> all;
  if (tasks_.rank() == root) {
    const auto head = std::as_bytes(sizes);
    all.reserve(head.size() + bytes.size());
    all.assign(head.begin(), head.end());
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  if (!meet(all)) return false;
  const std::byte* const laid = tasks_.of(root).data();
  const auto size_of = [&](int r) {
    return load<int64_t>(laid + sizeof(int64_t) * static_cast<size_t>(r), native_order);
  };
  length = size_of(tasks_.rank());
  if (length < 0) return true;
  const std::byte* piece = laid + sizeof(int64_t) * static_cast<size_t>(tasks_.size());
  for (int r = 0; r < tasks_.rank(); ++r) piece += size_of(r);
  mine.assign(piece, piece + length);
  return true;
}

bool Meeting::scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root) {
  if (!meet(tasks_.rank() == root ? pieces : std::span<const std::byte>())) return false;
  std::ranges::copy(tasks_.of(root).subspan(mine.size() * static_cast<size_t>(tasks_.rank()), mine.size()),
                    mine.begin());
  return true;
}

}  // namespace sheaf::mpi
