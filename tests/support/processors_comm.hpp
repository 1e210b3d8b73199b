// support/processors_comm: a Comm of a host with a given number of processors. Groups that are split from it
// are on the same host.
#pragma once

#include <memory>
#include <utility>

#include "support/forwarding_comm.hpp"

namespace sheaf::test {

class ProcessorsComm final : public ForwardingComm {
 public:
  ProcessorsComm(std::unique_ptr<Comm> comm, int processors)
      : ForwardingComm(std::move(comm)), processors_(processors) {}
  int processors() const override { return processors_; }

 protected:
  std::unique_ptr<Comm> wrap(std::unique_ptr<Comm> comm) override {
    return comm ? std::make_unique<ProcessorsComm>(std::move(comm), processors_) : nullptr;
  }

 private:
  const int processors_;
};

}  // namespace sheaf::test
