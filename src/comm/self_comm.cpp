// comm/self_comm: the group of one. Every collective is the identity; traffic is counted, with 0 steps.
#include <algorithm>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "comm/helpers.hpp"
#include "comm/shared_memory.hpp"

namespace sheaf {
namespace {

class SelfComm final : public Comm {
 public:
  explicit SelfComm(std::shared_ptr<Traffic> traffic) : traffic_(std::move(traffic)) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }

  void barrier() override { count(0); }

  void broadcast(std::span<std::byte> data, int root) override {
    check_root(root, 1);
    count(data.size_bytes());
  }

  void all_max(std::span<int64_t> values) override { count(values.size_bytes()); }
  void all_sum(std::span<int64_t> values) override { count(values.size_bytes()); }

  void prefix_sum(std::span<int64_t> values) override {
    count(values.size_bytes());
    std::ranges::fill(values, 0);
  }

  Gathered gather(std::span<const std::byte> mine, int root) override {
    check_root(root, 1);
    count(mine.size_bytes());
    return {{mine.begin(), mine.end()}, {std::ssize(mine)}};
  }

  std::vector<std::byte> scatter(const Gathered& pieces, int root) override {
    check_root(root, 1);
    check_pieces(pieces, 1);
    count(pieces.bytes.size());
    return pieces.bytes;
  }

  void scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root) override {
    check_root(root, 1);
    check_equal_pieces(pieces.size(), mine.size(), 1);
    count(pieces.size());
    std::ranges::copy(pieces, mine.begin());
  }

  std::unique_ptr<Comm> split(int color, int) override {
    count(split_bytes);
    return color < 0 ? nullptr : std::make_unique<SelfComm>(traffic_);
  }

  std::unique_ptr<Comm> duplicate() override { return alike(); }
  std::unique_ptr<Comm> split_by_node() override { return alike(); }

  std::unique_ptr<SharedMemory> share_memory(size_t bytes) override {
    return share_process_memory(*this, bytes);
  }

  Traffic traffic() const override { return *traffic_; }

 private:
  void count(size_t bytes) { count_collective(*traffic_, 1, static_cast<int64_t>(bytes)); }

  std::unique_ptr<Comm> alike() {
    count(0);
    return std::make_unique<SelfComm>(traffic_);
  }

  std::shared_ptr<Traffic> traffic_;
};

}  // namespace

std::unique_ptr<Comm> self_comm() { return std::make_unique<SelfComm>(std::make_shared<Traffic>()); }

}  // namespace sheaf
