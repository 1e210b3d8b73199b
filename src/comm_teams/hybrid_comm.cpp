#include "comm_teams/hybrid_comm.hpp"

#include <utility>

#include "base/error.hpp"
#include "comm/helpers.hpp"
#include "comm_teams/funneled_comm.hpp"
#include "comm_teams/star_comm.hpp"
#include "comm_teams/thread_comm.hpp"

namespace sheaf {
namespace {

using Shape = FunneledComm::Shape;

// The rounds of irregular groups travel on the regular group they were split from.
class FunneledHub final : public StarHub {
 public:
  // Collective over `group`.
  explicit FunneledHub(std::shared_ptr<FunneledComm> group) : group_(std::move(group)) {
    const auto node = group_->split_by_node();
    node_ = group_->rank();
    node->broadcast(std::as_writable_bytes(std::span(&node_, 1)), 0);
  }

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  int64_t node() override { return node_; }

  std::vector<std::byte> round(std::span<const std::byte> mine, const Answer& answer) override {
    const Gathered calls = group_->gather(mine, 0);
    Gathered replies;  // stays empty after a failure, which all then refuse
    std::optional<Error> problem;
    if (rank() == 0) problem = attempt([&] { replies = answer(calls); });
    try {
      return group_->scatter(replies, 0);
    } catch (const Error&) {
      if (problem) throw *problem;
      throw;
    }
  }

 private:
  std::shared_ptr<FunneledComm> group_;
  int64_t node_ = 0;
};

class HybridComm final : public Comm {
 public:
  // A regular group.
  HybridComm(std::shared_ptr<FunneledComm> group, std::shared_ptr<Traffic> traffic)
      : regular_(std::move(group)), traffic_(std::move(traffic)) {}
  // Any other; within: inside one process.
  HybridComm(std::unique_ptr<Comm> group, bool within, std::shared_ptr<Traffic> traffic)
      : other_(std::move(group)), within_(within), traffic_(std::move(traffic)) {}

  int rank() const override { return group().rank(); }
  int size() const override { return group().size(); }
  int grain() const override { return other_ ? other_->grain() : regular_->threads().size(); }

  void barrier() override {
    count(0);
    group().barrier();
  }
  void broadcast(std::span<std::byte> data, int root) override {
    count(rank() == root ? data.size() : 0);
    group().broadcast(data, root);
  }
  void all_max(std::span<int64_t> values) override {
    count(values.size_bytes());
    group().all_max(values);
  }
  void all_sum(std::span<int64_t> values) override {
    count(values.size_bytes());
    group().all_sum(values);
  }
  void prefix_sum(std::span<int64_t> values) override {
    count(values.size_bytes());
    group().prefix_sum(values);
  }
  Gathered gather(std::span<const std::byte> mine, int root) override {
    count(mine.size());
    return group().gather(mine, root);
  }
  std::vector<std::byte> scatter(const Gathered& pieces, int root) override {
    count(rank() == root ? pieces.bytes.size() : 0);
    return group().scatter(pieces, root);
  }
  void scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root) override {
    count(rank() == root ? pieces.size() : 0);
    group().scatter_equal(pieces, mine, root);
  }
  std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing,
                                     std::vector<Incoming> incoming) override {
    count(static_cast<size_t>(bytes_of(outgoing)));
    return group().exchange(std::move(outgoing), std::move(incoming));
  }

  std::unique_ptr<Comm> split(int color, int key) override {
    count(split_bytes);
    if (other_) return wrap(other_->split(color, key), within_);
    std::unique_ptr<Comm> processes;
    switch (regular_->shape_of_split(color, key, processes)) {
      case Shape::whole_processes: {
        auto threads = regular_->threads().duplicate();
        if (color < 0) return nullptr;
        return regular(std::make_unique<FunneledComm>(std::move(processes), std::move(threads)));
      }
      case Shape::within_processes:
        return wrap(regular_->threads().split(color, key), true);
      case Shape::irregular:
        break;
    }
    other_ = star_comm(std::make_shared<FunneledHub>(regular_));
    return wrap(other_->split(color, key), false);
  }

  std::unique_ptr<Comm> duplicate() override {
    count(0);
    return other_ ? wrap(other_->duplicate(), within_) : regular(regular_->duplicate());
  }

  std::unique_ptr<Comm> split_by_node() override {
    count(0);
    if (within_) return wrap(other_->duplicate(), true);
    return other_ ? wrap(other_->split_by_node(), false) : regular(regular_->split_by_node());
  }

  Traffic traffic() const override { return *traffic_; }

  const void* thread_team() const override { return regular_ ? regular_->threads().thread_team() : nullptr; }

 private:
  Comm& group() const { return other_ ? *other_ : *regular_; }
  void count(size_t bytes) { count_collective(*traffic_, size(), static_cast<int64_t>(bytes)); }

  std::unique_ptr<Comm> wrap(std::unique_ptr<Comm> part, bool within) {
    return part ? std::make_unique<HybridComm>(std::move(part), within, traffic_) : nullptr;
  }
  std::unique_ptr<Comm> regular(std::unique_ptr<Comm> part) {
    return std::make_unique<HybridComm>(
        std::shared_ptr<FunneledComm>(static_cast<FunneledComm*>(part.release())), traffic_);
  }

  std::shared_ptr<FunneledComm> regular_;  // null in groups that never were regular
  std::unique_ptr<Comm> other_;            // in use if there is one
  bool within_ = false;
  std::shared_ptr<Traffic> traffic_;
};

}  // namespace

std::unique_ptr<Comm> hybrid_comm(std::unique_ptr<Comm> processes, std::unique_ptr<Comm> threads) {
  return std::make_unique<HybridComm>(
      std::make_shared<FunneledComm>(std::move(processes), std::move(threads)), std::make_shared<Traffic>());
}

}  // namespace sheaf
