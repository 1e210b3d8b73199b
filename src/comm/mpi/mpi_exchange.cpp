#include "comm/mpi/mpi_exchange.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/non_copyable.hpp"
#include "comm/agree.hpp"
#include "comm/helpers.hpp"
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

// Datatypes of the messages to or from each peer, with absolute addresses. Without peers the lists have one
// unused entry, because Open MPI rejects null pointers.
class MessageTypes : private NonCopyable {
 public:
  // `index_of(rank)` returns the index of a peer, below `peers`.
  template <class Message, class Bytes, class IndexOf>
  MessageTypes(const std::vector<Message>& messages, Bytes Message::*bytes, size_t peers, IndexOf index_of,
               size_t limit)
      : counts_(std::max<size_t>(peers, 1), 0), types_(counts_.size(), MPI_BYTE) {
    std::vector<PeerBlocks> blocks(peers);
    for (const Message& message : messages) {
      PeerBlocks& to = blocks[index_of(message.peer)];
      in_parts(message.*bytes, limit, [&](auto part) {
        to.lengths.push_back(static_cast<int>(part.size()));
        MPI_Aint address = 0;
        check(MPI_Get_address(part.data(), &address), "MPI_Get_address");
        to.addresses.push_back(address);
      });
    }
    for (size_t i = 0; i < peers; ++i) {
      if (blocks[i].lengths.empty()) continue;
      MPI_Datatype type = MPI_DATATYPE_NULL;
      check(MPI_Type_create_hindexed(static_cast<int>(blocks[i].lengths.size()), blocks[i].lengths.data(),
                                     blocks[i].addresses.data(), MPI_BYTE, &type),
            "MPI_Type_create_hindexed");
      types_[i] = type;
      counts_[i] = 1;
      check(MPI_Type_commit(&types_[i]), "MPI_Type_commit");
    }
  }
  ~MessageTypes() {
    for (size_t i = 0; i < types_.size(); ++i)
      if (counts_[i] > 0) MPI_Type_free(&types_[i]);
  }

  const int* counts() const { return counts_.data(); }
  const MPI_Datatype* types() const { return types_.data(); }

 private:
  struct PeerBlocks {
    std::vector<int> lengths;  // bytes
    std::vector<MPI_Aint> addresses;
  };
  std::vector<int> counts_;  // 1, or 0 for a peer without messages
  std::vector<MPI_Datatype> types_;
};

// An exchange by one nonblocking collective call.
class CollectiveExchange : public Exchange, private NonCopyable {
 public:
  CollectiveExchange(const char* call, const std::vector<Incoming>& incoming) : call_(call) {
    for (const Incoming& message : incoming) received_.push_back(std::ssize(message.room));
  }
  std::vector<int64_t> finish() override {
    wait(request_, call_);
    return std::move(received_);
  }

 protected:
  MPI_Request request_ = MPI_REQUEST_NULL;
  const char* call() const { return call_; }

 private:
  const char* const call_;
  std::vector<int64_t> received_;
};

// An alltoallv with counts. The messages of a task are contiguous in memory, in the order of their peers.
class PackedExchange final : public CollectiveExchange {
 public:
  PackedExchange(MPI_Comm comm, const std::vector<Outgoing>& outgoing, std::vector<Incoming> incoming)
      : CollectiveExchange("MPI_Ialltoallv", incoming), incoming_(std::move(incoming)) {
    const auto tasks = static_cast<size_t>(size_of(comm));
    from_.lay_out(outgoing, &Outgoing::bytes, tasks);
    to_.lay_out(incoming_, &Incoming::room, tasks);
    from_.for_each(outgoing, &Outgoing::bytes, [](std::byte* packed, std::span<const std::byte> bytes) {
      std::ranges::copy(bytes, packed);
    });
    check(MPI_Ialltoallv(from_.memory.get(), from_.counts.data(), from_.places.data(), MPI_BYTE,
                         to_.memory.get(), to_.counts.data(), to_.places.data(), MPI_BYTE, comm, &request_),
          call());
  }
  std::vector<int64_t> finish() override {
    std::vector<int64_t> received = CollectiveExchange::finish();
    to_.for_each(incoming_, &Incoming::room, [](const std::byte* packed, std::span<std::byte> room) {
      std::copy_n(packed, room.size(), room.data());
    });
    return received;
  }

 private:
  struct Packed {
    std::vector<int> counts, places;  // bytes of each task, and their offsets in `memory`
    std::unique_ptr<std::byte[]> memory;

    template <class Message, class Bytes>
    void lay_out(const std::vector<Message>& messages, Bytes Message::*bytes, size_t tasks) {
      counts.assign(tasks, 0);
      places.assign(tasks, 0);
      for (const Message& message : messages)
        counts[static_cast<size_t>(message.peer)] += static_cast<int>((message.*bytes).size());
      std::partial_sum(counts.begin(), counts.end() - 1, places.begin() + 1);
      memory = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(places.back()) +
                                                           static_cast<size_t>(counts.back()));
    }
    template <class Message, class Bytes, class Copy>
    void for_each(const std::vector<Message>& messages, Bytes Message::*bytes, Copy copy) const {
      std::vector<int> next = places;
      for (const Message& message : messages) {
        int& at = next[static_cast<size_t>(message.peer)];
        copy(memory.get() + at, message.*bytes);
        at += static_cast<int>((message.*bytes).size());
      }
    }
  };
  const std::vector<Incoming> incoming_;
  Packed from_, to_;
};

// An exchange with a datatype per peer: any number of bytes, not copied.
class TypedExchange final : public CollectiveExchange {
 public:
  template <class IndexOf>
  TypedExchange(const char* call, const std::vector<Outgoing>& outgoing,
                const std::vector<Incoming>& incoming, size_t peers, IndexOf index_of, size_t limit)
      : CollectiveExchange(call, incoming),
        from_(outgoing, &Outgoing::bytes, peers, index_of, limit),
        to_(incoming, &Incoming::room, peers, index_of, limit) {}

  void start_alltoallw(MPI_Comm comm) {
    places_.assign(static_cast<size_t>(size_of(comm)), 0);
    check(MPI_Ialltoallw(MPI_BOTTOM, from_.counts(), places_.data(), from_.types(), MPI_BOTTOM, to_.counts(),
                         places_.data(), to_.types(), comm, &request_),
          call());
  }
  void start_neighbour_alltoallw(MPI_Comm graph, size_t peers) {
    far_places_.assign(std::max<size_t>(peers, 1), 0);
    check(MPI_Ineighbor_alltoallw(MPI_BOTTOM, from_.counts(), far_places_.data(), from_.types(), MPI_BOTTOM,
                                  to_.counts(), far_places_.data(), to_.types(), graph, &request_),
          call());
  }

 private:
  const MessageTypes from_, to_;
  std::vector<int> places_;
  std::vector<MPI_Aint> far_places_;
};

class AlltoallExchanger final : public Exchanger {
 public:
  AlltoallExchanger(MPI_Comm comm, int64_t largest, size_t limit)
      : comm_(comm), limit_(limit), is_packed_(largest <= static_cast<int64_t>(limit)) {}

  std::unique_ptr<Exchange> start(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) override {
    check_exchange(outgoing, incoming, size_of(comm_));
    if (is_packed_) return std::make_unique<PackedExchange>(comm_, outgoing, std::move(incoming));
    auto exchange = std::make_unique<TypedExchange>(
        "MPI_Ialltoallw", outgoing, incoming, static_cast<size_t>(size_of(comm_)),
        [](int rank) { return static_cast<size_t>(rank); }, limit_);
    exchange->start_alltoallw(comm_);
    return exchange;
  }

 private:
  const MPI_Comm comm_;
  const size_t limit_;
  const bool is_packed_;
};

class NeighbourExchanger final : public Exchanger, private NonCopyable {
 public:
  NeighbourExchanger(MPI_Comm comm, std::span<const int> peers, size_t limit)
      : peers_(peers.begin(), peers.end()), limit_(limit) {
    const auto count = static_cast<int>(peers_.size());
    check(MPI_Dist_graph_create_adjacent(comm, count, peers_.data(), MPI_UNWEIGHTED, count, peers_.data(),
                                         MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_),
          "MPI_Dist_graph_create_adjacent");
    check(MPI_Comm_set_errhandler(graph_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  ~NeighbourExchanger() override { free_own(graph_); }

  std::unique_ptr<Exchange> start(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) override {
    check_exchange(outgoing, incoming, size_of(graph_));
    auto exchange = std::make_unique<TypedExchange>(
        "MPI_Ineighbor_alltoallw", outgoing, incoming, peers_.size(),
        [this](int rank) {
          const auto found = std::ranges::lower_bound(peers_, rank);
          SHEAF_ASSERT(found != peers_.end() && *found == rank);
          return static_cast<size_t>(found - peers_.begin());
        },
        limit_);
    exchange->start_neighbour_alltoallw(graph_, peers_.size());
    return exchange;
  }

 private:
  const std::vector<int> peers_;  // ascending
  const size_t limit_;
  MPI_Comm graph_ = MPI_COMM_NULL;
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

std::unique_ptr<Exchanger> make_exchanger(MPI_Comm comm, ExchangeMethod method, std::span<const int> peers,
                                          int64_t largest, size_t limit) {
  SHEAF_ASSERT(method != ExchangeMethod::messages && std::ranges::is_sorted(peers));
  if (method == ExchangeMethod::neighbours) return std::make_unique<NeighbourExchanger>(comm, peers, limit);
  return std::make_unique<AlltoallExchanger>(comm, largest, limit);
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
