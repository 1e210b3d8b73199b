#include "comm_mpi/mpi_comm_pieces.hpp"
#include "comm_mpi/constants.hpp"
#include "comm_mpi/mpi_patience.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace sheaf::mpi {
namespace {

// The small contributions as MPI_Gatherv and MPI_Scatterv want them at the root: in place if int
// displacements reach all of `joined`, else side by side in `bytes`.
struct Packing {
  std::vector<int> counts;
  std::vector<int> starts;
  std::vector<std::byte> bytes;
};

Packing pack_plan(const Group& group, std::span<const int64_t> sizes) {
  Packing plan;
  plan.counts.reserve(sizes.size());
  plan.starts.reserve(sizes.size());
  int used = 0;
  for (const int64_t size : sizes) {
    plan.counts.push_back(size <= group.small() ? static_cast<int>(size) : 0);
    plan.starts.push_back(used);
    used += plan.counts.back();
  }
  plan.bytes.resize(static_cast<size_t>(used));
  return plan;
}

// visit(task, offset, size) for all contributions in rank order.
template <typename Visit>
void for_each_piece(std::span<const int64_t> sizes, Visit visit) {
  int64_t offset = 0;
  for (size_t task = 0; task < sizes.size(); ++task) {
    visit(task, static_cast<size_t>(offset), static_cast<size_t>(sizes[task]));
    offset += sizes[task];
  }
}

// part(start, count) for the pieces of `length` bytes that fit into one message each.
template <typename Part>
void in_messages(const Group& group, size_t length, Part part) {
  for (size_t start = 0; start < length;) {
    const size_t count = std::min(length - start, static_cast<size_t>(group.largest));
    part(start, static_cast<int>(count));
    start += count;
  }
}

// Nonblocking messages of the root, at most `messages_at_once` at a time.
class Messages {
 public:
  MPI_Request* next() {
    if (requests_.size() == messages_at_once) finish();
    return &requests_.emplace_back(MPI_REQUEST_NULL);
  }

  void finish() {
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall");
    requests_.clear();
  }

 private:
  std::vector<MPI_Request> requests_;
};

bool is_small(const Group& group, size_t size) { return static_cast<int64_t>(size) <= group.small(); }

bool is_own(const Group& group, size_t task) { return static_cast<int>(task) == group.rank; }

}  // namespace

void check(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  char words[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(result, words, &length);
  throw Error(Code::io, std::string(call) + ": " + words);
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size;
}

void free_own(MPI_Comm comm) {
  int finalized = 0;
  if (MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized) MPI_Comm_free(&comm);
}

MPI_Comm duplicate_of(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  check(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return copy;
}

void broadcast(const Group& group, std::span<std::byte> data, int root) {
  in_messages(group, data.size(), [&](size_t start, int count) {
    patiently("MPI_Ibcast", [&](MPI_Request* request) {
      return MPI_Ibcast(data.data() + start, count, MPI_BYTE, root, group.comm, request);
    });
  });
}

namespace {

// A gather, or the reverse. Neither changes what it takes from.
enum class Direction : uint8_t { up, down };

void move(const Group& group, Direction direction, std::span<std::byte> mine, std::span<std::byte> joined,
          std::span<const int64_t> sizes, int root) {
  const bool up = direction == Direction::up;
  const bool small = is_small(group, mine.size());
  const int count = small ? static_cast<int>(mine.size()) : 0;
  const auto copy = [up](std::byte* above, std::byte* below, size_t size) {
    if (size > 0) std::memcpy(up ? above : below, up ? below : above, size);
  };
  Packing plan;
  const auto copy_small = [&] {
    for_each_piece(sizes, [&](size_t task, size_t offset, size_t size) {
      if (is_small(group, size)) copy(joined.data() + offset, plan.bytes.data() + plan.starts[task], size);
    });
  };
  if (group.rank == root) {
    plan = pack_plan(group, sizes);
    if (!up) copy_small();
  }
  patiently(up ? "MPI_Igatherv" : "MPI_Iscatterv", [&](MPI_Request* request) {
    return up ? MPI_Igatherv(mine.data(), count, MPI_BYTE, plan.bytes.data(), plan.counts.data(),
                             plan.starts.data(), MPI_BYTE, root, group.comm, request)
              : MPI_Iscatterv(plan.bytes.data(), plan.counts.data(), plan.starts.data(), MPI_BYTE,
                              mine.data(), count, MPI_BYTE, root, group.comm, request);
  });
  if (group.rank != root) {
    if (small) return;
    in_messages(group, mine.size(), [&](size_t start, int part) {
      std::byte* const at = mine.data() + start;
      check(up ? MPI_Send(at, part, MPI_BYTE, root, pieces_tag, group.comm)
               : MPI_Recv(at, part, MPI_BYTE, root, pieces_tag, group.comm, MPI_STATUS_IGNORE),
            up ? "MPI_Send" : "MPI_Recv");
    });
    return;
  }
  if (up) copy_small();
  Messages messages;
  for_each_piece(sizes, [&](size_t task, size_t offset, size_t size) {
    if (is_small(group, size)) return;
    std::byte* const place = joined.data() + offset;
    if (is_own(group, task)) return copy(place, mine.data(), size);
    in_messages(group, size, [&](size_t start, int part) {
      const int peer = static_cast<int>(task);
      check(up ? MPI_Irecv(place + start, part, MPI_BYTE, peer, pieces_tag, group.comm, messages.next())
               : MPI_Isend(place + start, part, MPI_BYTE, peer, pieces_tag, group.comm, messages.next()),
            up ? "MPI_Irecv" : "MPI_Isend");
    });
  });
  messages.finish();
}

std::span<std::byte> only_read(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

void gather(const Group& group, std::span<const std::byte> mine, std::span<std::byte> joined,
            std::span<const int64_t> sizes, int root) {
  move(group, Direction::up, only_read(mine), joined, sizes, root);
}

void scatter(const Group& group, std::span<std::byte> mine, std::span<const std::byte> joined,
             std::span<const int64_t> sizes, int root) {
  move(group, Direction::down, mine, only_read(joined), sizes, root);
}

}  // namespace sheaf::mpi
