// support/forwarding_comm: a Comm that forwards all calls to another Comm. Derive from it to observe or
// change single calls.
#pragma once

#include <memory>
#include <utility>

#include "comm/comm.hpp"

namespace sheaf::test {

class ForwardingComm : public Comm {
 public:
  explicit ForwardingComm(std::unique_ptr<Comm> comm) : comm_(std::move(comm)) {}

  int rank() const override { return comm_->rank(); }
  int size() const override { return comm_->size(); }
  int grain() const override { return comm_->grain(); }
  void barrier() override { comm_->barrier(); }
  void broadcast(std::span<std::byte> data, int root) override { comm_->broadcast(data, root); }
  void reduce(Reduction how, std::span<int64_t> values) override { comm_->reduce(how, values); }
  void reduce_by(ReductionMethod method, Reduction how, std::span<int64_t> values) override {
    method == ReductionMethod::hosts ? reduce(how, values) : comm_->reduce_by(method, how, values);
  }
  Gathered gather(std::span<const std::byte> mine, int root) override { return comm_->gather(mine, root); }
  std::vector<std::byte> scatter(const Gathered& pieces, int root) override {
    return comm_->scatter(pieces, root);
  }
  void scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root) override {
    comm_->scatter_equal(pieces, mine, root);
  }
  std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing,
                                     std::vector<Incoming> incoming) override {
    return comm_->exchange(std::move(outgoing), std::move(incoming));
  }
  std::unique_ptr<Exchanger> exchanger(ExchangeMethod method, std::span<const int> peers,
                                       int64_t largest) override {
    return comm_->exchanger(method, peers, largest);
  }
  std::unique_ptr<Comm> split(int color, int key) override { return wrap(comm_->split(color, key)); }
  std::unique_ptr<Comm> duplicate() override { return wrap(comm_->duplicate()); }
  std::unique_ptr<Comm> split_by_node() override { return wrap(comm_->split_by_node()); }
  std::shared_ptr<SharedMemory> share_memory(size_t bytes) override { return comm_->share_memory(bytes); }
  int node_count() override { return comm_->node_count(); }
  int processors() const override { return comm_->processors(); }

 protected:
  // Wraps each group that split() creates. Override it to observe these groups as well.
  virtual std::unique_ptr<Comm> wrap(std::unique_ptr<Comm> comm) { return comm; }

  const std::unique_ptr<Comm> comm_;
};

}  // namespace sheaf::test
