#include "comm/mpi_exchange.hpp"

#include <algorithm>
#include <climits>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/mpi_patience.hpp"

namespace sheaf::mpi {
namespace {

constexpr int exchange_tag = 2;  // the pieces of gathers have 1

class MpiExchange final : public Exchange {
 public:
  // Receives first: a message that finds its room ready is copied once.
  MpiExchange(MPI_Comm comm, const std::vector<Outgoing>& outgoing, const std::vector<Incoming>& incoming) {
    received_ = incoming.size();
    requests_.reserve(incoming.size() + outgoing.size());
    for (const Incoming& message : incoming)
      check(MPI_Irecv(message.room.data(), static_cast<int>(message.room.size()), MPI_BYTE, message.peer, exchange_tag, comm,
                      &requests_.emplace_back(MPI_REQUEST_NULL)),
            "MPI_Irecv");
    for (const Outgoing& message : outgoing)
      check(MPI_Isend(message.bytes.data(), static_cast<int>(message.bytes.size()), MPI_BYTE, message.peer, exchange_tag, comm,
                      &requests_.emplace_back(MPI_REQUEST_NULL)),
            "MPI_Isend");
  }
  MpiExchange(const MpiExchange&) = delete;
  MpiExchange& operator=(const MpiExchange&) = delete;

  std::vector<int64_t> finish() override {
    std::vector<int64_t> bytes(received_);
    std::optional<Error> problem;
    for (size_t i = 0; i < requests_.size(); ++i) {
      MPI_Status status;
      const auto failed = attempt([&] { wait(requests_[i], i < received_ ? "MPI_Irecv" : "MPI_Isend", &status); });
      if (failed && !problem) problem = failed;
      int count = 0;
      if (i < received_ && !failed && MPI_Get_count(&status, MPI_BYTE, &count) == MPI_SUCCESS) bytes[i] = count;
    }
    if (problem) throw *problem;
    return bytes;
  }

 private:
  std::vector<MPI_Request> requests_;
  size_t received_ = 0;  // the first so many requests are receives
};

// One message for every task, most of them maybe empty, as one collective operation.
class AllToAll final : public Exchange {
 public:
  AllToAll(MPI_Comm comm, int size, const std::vector<Outgoing>& outgoing, std::vector<Incoming> incoming)
      : incoming_(std::move(incoming)) {
    const auto tasks = static_cast<size_t>(size);
    for (Lane* lane : {&sent_, &arrived_}) {
      lane->counts.assign(tasks, 0);
      lane->places.assign(tasks, 0);
    }
    for (const Outgoing& message : outgoing) sent_.counts[static_cast<size_t>(message.peer)] = static_cast<int>(message.bytes.size());
    patiently("MPI_Ialltoall", [&](MPI_Request* request) {
      return MPI_Ialltoall(sent_.counts.data(), 1, MPI_INT, arrived_.counts.data(), 1, MPI_INT, comm, request);
    });
    sent_.make_room();
    arrived_.make_room();
    for (const Outgoing& message : outgoing)
      std::ranges::copy(message.bytes, sent_.memory.get() + sent_.places[static_cast<size_t>(message.peer)]);
    check(MPI_Ialltoallv(sent_.memory.get(), sent_.counts.data(), sent_.places.data(), MPI_BYTE, arrived_.memory.get(),
                         arrived_.counts.data(), arrived_.places.data(), MPI_BYTE, comm, &request_),
          "MPI_Ialltoallv");
  }
  AllToAll(const AllToAll&) = delete;
  AllToAll& operator=(const AllToAll&) = delete;

  std::vector<int64_t> finish() override {
    wait(request_, "MPI_Ialltoallv");
    std::vector<int64_t> bytes;
    for (const Incoming& message : incoming_) {
      const auto peer = static_cast<size_t>(message.peer);
      const auto count = static_cast<size_t>(arrived_.counts[peer]);
      if (count > message.room.size()) throw Error(Code::mismatch, "a message of an exchange does not fit its room");
      std::copy_n(arrived_.memory.get() + arrived_.places[peer], count, message.room.begin());
      bytes.push_back(arrived_.counts[peer]);
    }
    return bytes;
  }

 private:
  struct Lane {
    std::vector<int> counts, places;
    std::unique_ptr<std::byte[]> memory;

    void make_room() {
      int64_t sum = 0;
      for (size_t i = 0; i < counts.size(); ++i) {
        if (sum > INT_MAX) throw Error(Code::out_of_range, "an exchange has more than 2 GiB for a task");
        places[i] = static_cast<int>(sum);
        sum += counts[i];
      }
      memory = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(sum));
    }
  };

  std::vector<Incoming> incoming_;
  Lane sent_, arrived_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace

std::unique_ptr<Exchange> start_exchange_all(MPI_Comm comm, int size, const std::vector<Outgoing>& outgoing,
                                             std::vector<Incoming> incoming) {
  return std::make_unique<AllToAll>(comm, size, outgoing, std::move(incoming));
}

std::unique_ptr<Exchange> start_exchange(MPI_Comm comm, std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) {
  return std::make_unique<MpiExchange>(comm, outgoing, incoming);
}

}  // namespace sheaf::mpi
