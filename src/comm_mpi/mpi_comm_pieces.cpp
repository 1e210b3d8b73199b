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

void copy_bytes(std::byte* to, const std::byte* from, size_t size) {
  if (size > 0) std::memcpy(to, from, size);
}

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

void gather(const Group& group, std::span<const std::byte> mine, std::span<std::byte> joined,
            std::span<const int64_t> sizes, int root) {
  const bool small = is_small(group, mine.size());
  const int count = small ? static_cast<int>(mine.size()) : 0;
  Packing plan;
  if (group.rank == root) plan = pack_plan(group, sizes);
  patiently("MPI_Igatherv", [&](MPI_Request* request) {
    return MPI_Igatherv(mine.data(), count, MPI_BYTE, plan.bytes.data(), plan.counts.data(),
                        plan.starts.data(), MPI_BYTE, root, group.comm, request);
  });
  if (group.rank != root) {
    if (small) return;
    in_messages(group, mine.size(), [&](size_t start, int part) {
      check(MPI_Send(mine.data() + start, part, MPI_BYTE, root, pieces_tag, group.comm), "MPI_Send");
    });
    return;
  }
  Messages messages;
  for_each_piece(sizes, [&](size_t task, size_t offset, size_t size) {
    std::byte* const place = joined.data() + offset;
    if (is_small(group, size)) return copy_bytes(place, plan.bytes.data() + plan.starts[task], size);
    if (is_own(group, task)) return copy_bytes(place, mine.data(), size);
    in_messages(group, size, [&](size_t start, int part) {
      check(MPI_Irecv(place + start, part, MPI_BYTE, static_cast<int>(task), pieces_tag, group.comm,
                      messages.next()),
            "MPI_Irecv");
    });
  });
  messages.finish();
}

void scatter(const Group& group, std::span<std::byte> mine, std::span<const std::byte> joined,
             std::span<const int64_t> sizes, int root) {
  const bool small = is_small(group, mine.size());
  const int count = small ? static_cast<int>(mine.size()) : 0;
  Packing plan;
  if (group.rank == root) {
    plan = pack_plan(group, sizes);
    for_each_piece(sizes, [&](size_t task, size_t offset, size_t size) {
      if (is_small(group, size))
        copy_bytes(plan.bytes.data() + plan.starts[task], joined.data() + offset, size);
    });
  }
  patiently("MPI_Iscatterv", [&](MPI_Request* request) {
    return MPI_Iscatterv(plan.bytes.data(), plan.counts.data(), plan.starts.data(), MPI_BYTE, mine.data(),
                         count, MPI_BYTE, root, group.comm, request);
  });
  if (group.rank != root) {
    if (small) return;
    in_messages(group, mine.size(), [&](size_t start, int part) {
      check(MPI_Recv(mine.data() + start, part, MPI_BYTE, root, pieces_tag, group.comm, MPI_STATUS_IGNORE),
            "MPI_Recv");
    });
    return;
  }
  Messages messages;
  for_each_piece(sizes, [&](size_t task, size_t offset, size_t size) {
    if (is_small(group, size)) return;
    const std::byte* const piece = joined.data() + offset;
    if (is_own(group, task)) return copy_bytes(mine.data(), piece, size);
    in_messages(group, size, [&](size_t start, int part) {
      check(MPI_Isend(piece + start, part, MPI_BYTE, static_cast<int>(task), pieces_tag, group.comm,
                      messages.next()),
            "MPI_Isend");
    });
  });
  messages.finish();
}

}  // namespace sheaf::mpi
