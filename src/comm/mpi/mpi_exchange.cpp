#include "comm/mpi/mpi_exchange.hpp"

#include <optional>

#include "base/error.hpp"
#include "base/non_copyable.hpp"
#include "comm/agree.hpp"
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

}  // namespace

std::unique_ptr<Exchange> start_exchange(MPI_Comm comm, int tag, const std::vector<Outgoing>& outgoing,
                                         const std::vector<Incoming>& incoming) {
  return std::make_unique<MpiExchange>(comm, tag, outgoing, incoming);
}

}  // namespace sheaf::mpi
