#include "comm/mpi/mpi_exchange.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/non_copyable.hpp"
#include "comm/agree.hpp"
#include "comm/mpi/constants.hpp"
#include "comm/mpi/mpi_timeout.hpp"

namespace sheaf::mpi {
namespace {

class MpiExchange final : public Exchange, private NonCopyable {
 public:
  // Posts the receives first: a message that finds its receive posted is copied only once.
  MpiExchange(MPI_Comm comm, int tag, const std::vector<Outgoing>& outgoing,
              const std::vector<Incoming>& incoming)
      : received_(incoming.size()) {
    requests_.reserve(incoming.size() + outgoing.size());
    for (const Incoming& message : incoming)
      check(MPI_Irecv(message.room.data(), static_cast<int>(message.room.size()), MPI_BYTE, message.peer, tag,
                      comm, &requests_.emplace_back(MPI_REQUEST_NULL)),
            "MPI_Irecv");
    for (const Outgoing& message : outgoing)
      check(MPI_Isend(message.bytes.data(), static_cast<int>(message.bytes.size()), MPI_BYTE, message.peer,
                      tag, comm, &requests_.emplace_back(MPI_REQUEST_NULL)),
            "MPI_Isend");
  }

  std::vector<int64_t> finish() override {
    std::vector<int64_t> bytes(received_);
    std::optional<Error> problem;
    for (size_t i = 0; i < requests_.size(); ++i) {
      MPI_Status status;
      const auto failed =
          attempt([&] { wait(requests_[i], i < received_ ? "MPI_Irecv" : "MPI_Isend", &status); });
      if (!problem) problem = failed;
      int count = 0;
      if (i < received_ && !failed && MPI_Get_count(&status, MPI_BYTE, &count) == MPI_SUCCESS)
        bytes[i] = count;
    }
    if (problem) throw *problem;
    return bytes;
  }

 private:
  std::vector<MPI_Request> requests_;
  const size_t received_;  // number of receives, which precede the sends in `requests_`
};

// Appends the messages that transfer `bytes` to or from `peer`.
template <class Message, class Byte>
void add_parts(std::vector<Message>& to, int peer, std::span<Byte> bytes, size_t largest) {
  in_parts(bytes, largest, [&](auto part) { to.push_back({peer, part}); });
}

// Transfers messages between the root and all other tasks, with at most pieces_at_once messages of the root
// in flight.
void move_pieces(MPI_Comm comm, const std::vector<Outgoing>& outgoing,
                 const std::vector<Incoming>& incoming) {
  const auto some = [](const auto& messages, size_t from) {
    const auto begin = messages.begin() + static_cast<ptrdiff_t>(std::min(from, messages.size()));
    return std::vector(begin, begin + std::min(messages.end() - begin, ptrdiff_t{pieces_at_once}));
  };
  for (size_t at = 0; at < std::max(outgoing.size(), incoming.size()); at += pieces_at_once)
    start_exchange(comm, pieces_tag, some(outgoing, at), some(incoming, at))->finish();
}

}  // namespace

std::unique_ptr<Exchange> start_exchange(MPI_Comm comm, int tag, const std::vector<Outgoing>& outgoing,
                                         const std::vector<Incoming>& incoming) {
  return std::make_unique<MpiExchange>(comm, tag, outgoing, incoming);
}

void gather_pieces(MPI_Comm comm, std::span<const std::byte> mine, Gathered& all, int root, size_t largest) {
  const bool is_root = rank_in(comm) == root;
  if (is_root) all.sizes.resize(static_cast<size_t>(size_of(comm)));
  const int64_t length = std::ssize(mine);
  with_retries("MPI_Igather", [&](MPI_Request* request) {
    return MPI_Igather(&length, 1, MPI_INT64_T, all.sizes.data(), 1, MPI_INT64_T, root, comm, request);
  });
  all.bytes.resize(static_cast<size_t>(all.offsets().back()));
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  if (!is_root) add_parts(outgoing, root, mine, largest);
  const auto receive_buffers = all.receive_buffers();
  for (int task = 0; task < std::ssize(receive_buffers); ++task)
    if (const auto buffer = receive_buffers[static_cast<size_t>(task)]; task != root)
      add_parts(incoming, task, buffer, largest);
    else
      std::ranges::copy(mine, buffer.begin());
  move_pieces(comm, outgoing, incoming);
}

int64_t scatter_pieces(MPI_Comm comm, const Gathered& pieces, std::vector<std::byte>& mine, int root,
                       size_t largest) {
  const bool is_root = rank_in(comm) == root;
  int64_t length = 0;
  with_retries("MPI_Iscatter", [&](MPI_Request* request) {
    return MPI_Iscatter(is_root ? pieces.sizes.data() : nullptr, 1, MPI_INT64_T, &length, 1, MPI_INT64_T,
                        root, comm, request);
  });
  if (length < 0) return length;
  mine.resize(static_cast<size_t>(length));
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  if (!is_root) add_parts(incoming, root, std::span(mine), largest);
  const auto all = is_root ? pieces.pieces() : std::vector<std::span<const std::byte>>();
  for (int task = 0; task < std::ssize(all); ++task)
    if (const auto piece = all[static_cast<size_t>(task)]; task != root)
      add_parts(outgoing, task, piece, largest);
    else
      std::ranges::copy(piece, mine.begin());
  move_pieces(comm, outgoing, incoming);
  return length;
}

}  // namespace sheaf::mpi
