// comm/dense_exchange: exchanges in which many tasks have something for many others, by the transport's own operation.
#pragma once

#include <memory>
#include <vector>

#include "comm/comm.hpp"

namespace sheaf {

// A Comm may be one of these.
class DenseExchange {
 public:
  virtual ~DenseExchange() = default;

  // As Comm::exchange(), with at most one message from a task to another one. Every task waits for every other one before it
  // returns; the data then travel. Fewer, larger steps of the transport (MPI_Alltoallv), for one more copy at both ends.
  virtual std::unique_ptr<Exchange> exchange_all(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) = 0;
};

}  // namespace sheaf
