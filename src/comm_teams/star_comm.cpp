#include "comm_teams/star_comm.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "comm/helpers.hpp"
#include "comm_teams/star_answer.hpp"

namespace sheaf {
namespace {

using namespace star;

class StarComm final : public Comm {
 public:
  StarComm(std::shared_ptr<StarHub> hub, const Place& place) : hub_(std::move(hub)), place_(place) {}

  int rank() const override { return place_.rank; }
  int size() const override { return place_.size; }
  int grain() const override { return hub_->size(); }  // every round needs all tasks

  void barrier() override { call({.op = Op::barrier}, {}); }

  void broadcast(std::span<std::byte> data, int root) override {
    check_root(root, size());
    const bool is_root = rank() == root;
    const auto found = call({.op = Op::broadcast, .root = root, .length = std::ssize(data)},
                            is_root ? std::span<const std::byte>(data) : std::span<const std::byte>());
    if (!is_root) fill(data, found);
  }

  void reduce(Reduction how, std::span<int64_t> values) override {
    constexpr Op ops[] = {Op::all_max, Op::all_sum, Op::prefix_sum};
    const auto bytes = std::as_writable_bytes(values);
    fill(bytes, call({.op = ops[static_cast<size_t>(how)], .length = std::ssize(bytes)}, bytes));
  }

  Gathered gather(std::span<const std::byte> mine, int root) override {
    check_root(root, size());
    const auto found = call({.op = Op::gather, .root = root}, mine);
    Gathered joined;
    if (rank() != root) return joined;
    joined.sizes.resize(static_cast<size_t>(size()));
    const size_t head = joined.sizes.size() * sizeof(int64_t);
    if (found.size() < head) throw Error(Code::damaged, "a message between tasks is too short");
    std::memcpy(joined.sizes.data(), found.data(), head);
    joined.bytes.assign(found.begin() + static_cast<ptrdiff_t>(head), found.end());
    return joined;
  }

  std::vector<std::byte> scatter(const Gathered& pieces, int root) override {
    check_root(root, size());
    std::vector<std::byte> joined;
    if (rank() == root) {
      const int64_t pieces_given = std::ssize(pieces.sizes);
      const auto add = [&](std::span<const std::byte> bytes) {
        joined.insert(joined.end(), bytes.begin(), bytes.end());
      };
      add(std::as_bytes(std::span(&pieces_given, 1)));
      add(std::as_bytes(std::span(pieces.sizes)));
      add(pieces.bytes);
    }
    return call({.op = Op::scatter, .root = root}, joined);
  }

  std::unique_ptr<Comm> split(int color, int key) override {
    return split_off({.op = Op::split, .color = color, .key = key});
  }
  std::unique_ptr<Comm> split_by_node() override {
    return split_off({.op = Op::split_by_node, .color = hub_->node()});
  }

  StarHub* hub() const override { return hub_.get(); }

 private:
  static void fill(std::span<std::byte> to, std::span<const std::byte> from) {
    if (to.size() != from.size())
      throw Error(Code::damaged, "a message between tasks has another length than expected");
    std::ranges::copy(from, to.begin());
  }

  // Takes part in rounds until this call has its result.
  std::vector<std::byte> call(Call mine, std::span<const std::byte> contribution) {
    mine.group = place_.group;
    mine.rank = rank();
    mine.size = size();
    const std::vector<std::byte> message = pack(mine, contribution);
    for (;;) {
      std::vector<std::byte> found =
          hub_->round(message, [this](const Gathered& calls) { return answer(calls); });
      Reply reply;
      if (found.size() < sizeof reply) throw Error(Code::damaged, "a message between tasks is too short");
      std::memcpy(&reply, found.data(), sizeof reply);
      if (reply.state == Reply::State::wait) continue;
      found.erase(found.begin(), found.begin() + sizeof reply);
      if (reply.state == Reply::State::done) return found;
      throw Error(static_cast<Code>(reply.code),
                  std::string(reinterpret_cast<const char*>(found.data()), found.size()));
    }
  }

  Gathered answer(const Gathered& calls) {
    return star::answer(calls, hub_->next_group, [this](int task, int64_t given) {
      const int per_node = hub_->tasks_per_node();
      return per_node > 0 ? task / per_node : given;
    });
  }

  std::unique_ptr<Comm> split_off(const Call& wanted) {
    Place place;
    const auto found = call(wanted, {});
    fill(std::as_writable_bytes(std::span(&place, 1)), found);
    return place.group == 0 ? nullptr : std::make_unique<StarComm>(hub_, place);
  }

  std::shared_ptr<StarHub> hub_;
  Place place_;
};

}  // namespace

std::unique_ptr<Comm> star_comm(std::shared_ptr<StarHub> hub) {
  const Place place{0, hub->rank(), hub->size()};
  return std::make_unique<StarComm>(std::move(hub), place);
}

}  // namespace sheaf
