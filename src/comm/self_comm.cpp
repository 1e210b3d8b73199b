// comm/self_comm: a group with a single task. Every collective call is the identity.
#include <algorithm>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "comm/helpers.hpp"
#include "comm/shared_memory.hpp"

namespace sheaf {
namespace {

class SelfComm final : public Comm {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

  void barrier() override {}
  void broadcast(std::span<std::byte>, int root) override { check_root(root, 1); }
  void reduce(Reduction how, std::span<int64_t> values) override {
    if (how == Reduction::exclusive_scan) std::ranges::fill(values, 0);
  }

  Gathered gather(std::span<const std::byte> mine, int root) override {
    check_root(root, 1);
    return {{mine.begin(), mine.end()}, {std::ssize(mine)}};
  }

  std::vector<std::byte> scatter(const Gathered& pieces, int root) override {
    check_root(root, 1);
    check_pieces(pieces, 1);
    return pieces.bytes;
  }

  std::unique_ptr<Comm> split(int color, int) override { return color < 0 ? nullptr : self_comm(); }
  std::unique_ptr<Comm> split_by_node() override { return self_comm(); }

  std::shared_ptr<SharedMemory> share_memory(size_t bytes) override {
    return share_process_memory(*this, bytes);
  }
};

}  // namespace

std::unique_ptr<Comm> self_comm() { return std::make_unique<SelfComm>(); }

}  // namespace sheaf
