// mpiio/file/sequence: the state of one sequence of collective transfers.
#pragma once

#include <memory>
#include <utility>

#include "comm/comm.hpp"
#include "exchange/collective_executor.hpp"

namespace sheaf::mpiio {

class Sequence {
 public:
  explicit Sequence(std::unique_ptr<Comm> comm) : comm_(std::move(comm)), transfers(*comm_) {}

  Comm& comm() { return *comm_; }

 private:
  const std::unique_ptr<Comm> comm_;

 public:
  exchange::CollectiveExecutor transfers;
};

}  // namespace sheaf::mpiio
