#include "comm/threads/star_comm.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "comm/collective_call.hpp"
#include "comm/helpers.hpp"
#include "comm/packing.hpp"
#include "comm/threads/star_answer.hpp"

namespace sheaf {
namespace {

using namespace star;

class StarComm final : public Comm {
 public:
  StarComm(std::shared_ptr<RootRelay> relay, const GroupMembership& place)
      : relay_(std::move(relay)), place_(place) {}

  int rank() const override { return place_.rank; }
  int size() const override { return place_.size; }
  // No group of a split communicates independently, because every round needs all tasks of the hub.
  int grain() const override { return relay_->size(); }
  JobEnd job_end() const override { return process_job_end(rank(), size()); }

  void barrier() override { call({.op = Op::barrier}, {}); }

  void broadcast(std::span<std::byte> data, int root) override {
    check_root(root, size());
    const auto given = data.first(rank() == root ? data.size() : 0);
    const auto found = call({.op = Op::broadcast, .root = root, .length = std::ssize(data)}, given);
    if (rank() != root) fill(data, found);
  }

  void reduce(Reduction how, std::span<int64_t> values) override {
    constexpr Op ops[] = {Op::all_max, Op::all_sum, Op::prefix_sum};
    const auto bytes = std::as_writable_bytes(values);
    fill(bytes, call({.op = ops[static_cast<size_t>(how)], .length = std::ssize(bytes)}, bytes));
  }

  Gathered gather(std::span<const std::byte> mine, int root) override {
    check_root(root, size());
    const auto found = call({.op = Op::gather, .root = root}, mine);
    return rank() == root ? Gathered::unpacked(found, static_cast<size_t>(size())) : Gathered();
  }

  // If `pieces` is inconsistent (is_consistent()), the root sends an empty contribution. Task 0 rejects it,
  // so that all tasks throw.
  std::vector<std::byte> scatter(const Gathered& pieces, int root) override {
    check_root(root, size());
    const bool given = rank() == root && is_consistent(pieces, size());
    return call({.op = Op::scatter, .root = root}, given ? pieces.packed() : std::vector<std::byte>());
  }

  std::unique_ptr<Comm> split(int color, int key) override {
    return split_off({.op = Op::split, .color = color, .key = key});
  }
  std::unique_ptr<Comm> split_by_node() override {
    return split_off({.op = Op::split_by_node, .color = relay_->node()});
  }

  RootRelay* relay() const override { return relay_.get(); }

 private:
  static void fill(std::span<std::byte> to, std::span<const std::byte> from) {
    if (to.size() != from.size())
      throw Error(Code::damaged, "a message between tasks has another length than expected");
    std::ranges::copy(from, to.begin());
  }

  // Takes part in rounds until task 0 has answered this call, and returns the result.
  std::vector<std::byte> call(CollectiveCall mine, std::span<const std::byte> contribution) {
    mine.group = place_.group;
    mine.rank = rank();
    mine.size = size();
    const std::vector<std::byte> message = joined({value_bytes(mine), contribution});
    for (;;) {
      const auto found =
          relay_->round(message, [this](const Gathered& calls) { return answer(calls, *relay_); });
      std::span<const std::byte> rest = found;
      const auto reply = take<Reply>(rest);
      if (reply.state == Reply::ReplyState::pending) continue;
      if (reply.state == Reply::ReplyState::done) return {rest.begin(), rest.end()};
      throw Error(static_cast<Code>(reply.code),
                  std::string(reinterpret_cast<const char*>(rest.data()), rest.size()));
    }
  }

  std::unique_ptr<Comm> split_off(const CollectiveCall& wanted) {
    GroupMembership place;
    fill(std::as_writable_bytes(std::span(&place, 1)), call(wanted, {}));
    return place.group == 0 ? nullptr : std::make_unique<StarComm>(relay_, place);
  }

  std::shared_ptr<RootRelay> relay_;
  GroupMembership place_;
};

}  // namespace

std::unique_ptr<Comm> star_comm(std::shared_ptr<RootRelay> relay) {
  const GroupMembership place{0, relay->rank(), relay->size()};
  return std::make_unique<StarComm>(std::move(relay), place);
}

}  // namespace sheaf
