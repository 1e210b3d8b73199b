#include "comm/threads/star_answer.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/helpers.hpp"
#include "comm/packing.hpp"

namespace sheaf::star {
namespace {

using MessageBytes = std::span<const std::byte>;

struct Member {
  int task = 0;  // rank in the hub
  CollectiveCall call;
  MessageBytes contribution;
};

using GroupMembers = std::vector<Member>;             // members of one group, in rank order
using Results = std::vector<std::vector<std::byte>>;  // one per member

const char* name_of(Op op) {
  static constexpr const char* names[] = {"barrier", "broadcast", "all_max", "all_sum",      "prefix_sum",
                                          "gather",  "scatter",   "split",   "split_by_node"};
  return names[static_cast<size_t>(op)];
}

void check_match(const GroupMembers& members) {
  const CollectiveCall& first = members[0].call;
  for (const Member& m : members) {
    const CollectiveCall& c = m.call;
    if (c.op == first.op && c.root == first.root && c.length == first.length) continue;
    throw Error(Code::mismatch, std::string("the tasks of a group made different calls: task 0 ") +
                                    name_of(first.op) + ", task " + std::to_string(c.rank) + " " +
                                    name_of(c.op));
  }
}

void reduce(const GroupMembers& members, Results& results) {
  const Op op = members[0].call.op;
  std::vector<int64_t> sums(members[0].contribution.size() / sizeof(int64_t),
                            op == Op::all_max ? INT64_MIN : 0);
  for (size_t m = 0; m < members.size(); ++m) {
    if (op == Op::prefix_sum) results[m] = joined({std::as_bytes(std::span(sums))});
    MessageBytes values = members[m].contribution;
    for (int64_t& sum : sums) {
      const auto value = take<int64_t>(values);
      sum = op == Op::all_max ? std::max(sum, value) : sum + value;
    }
  }
  if (op != Op::prefix_sum) std::ranges::fill(results, joined({std::as_bytes(std::span(sums))}));
}

void gather(const GroupMembers& members, std::vector<std::byte>& result) {
  Gathered all;
  for (const Member& m : members) all.add(m.contribution);
  result = all.packed();
}

void scatter(const GroupMembers& members, Results& results) {
  const MessageBytes given = members[static_cast<size_t>(members[0].call.root)].contribution;
  const Gathered pieces = given.empty() ? Gathered() : Gathered::unpacked(given, members.size());
  check_pieces(pieces, static_cast<int>(members.size()));
  const auto parts = pieces.pieces();
  for (size_t m = 0; m < members.size(); ++m) results[m] = joined({parts[m]});
}

void split(const GroupMembers& members, Results& results, RootRelay& relay) {
  std::map<int64_t, std::vector<size_t>> groups;
  for (size_t m = 0; m < members.size(); ++m)
    if (members[m].call.color >= 0) groups[members[m].call.color].push_back(m);
  std::ranges::fill(results, joined({value_bytes(GroupMembership{})}));
  for (auto& [color, group] : groups) {
    std::ranges::stable_sort(group, {}, [&](size_t m) { return members[m].call.key; });
    GroupMembership place{relay.next_group++, 0, static_cast<int32_t>(group.size())};
    for (const size_t m : group) {
      results[m] = joined({value_bytes(place)});
      ++place.rank;
    }
  }
}

void complete(GroupMembers& members, Results& results, RootRelay& relay) {
  check_match(members);
  const auto root = static_cast<size_t>(members[0].call.root);
  switch (members[0].call.op) {
    case Op::barrier:
      return;
    case Op::broadcast:
      std::ranges::fill(results, joined({members[root].contribution}));
      return;
    case Op::all_max:
    case Op::all_sum:
    case Op::prefix_sum:
      return reduce(members, results);
    case Op::gather:
      return gather(members, results[root]);
    case Op::scatter:
      return scatter(members, results);
    case Op::split_by_node:
      if (const int per_node = relay.tasks_per_node(); per_node > 0)
        for (Member& m : members) m.call.color = m.task / per_node;
      [[fallthrough]];
    case Op::split:
      return split(members, results, relay);
  }
}

std::vector<std::byte> packed(const Error& error) {
  const std::string text = error.what();
  return joined({value_bytes(Reply{Reply::ReplyState::error, static_cast<int32_t>(error.code())}),
                 std::as_bytes(std::span(text))});
}

std::map<int64_t, GroupMembers> by_group(const Gathered& calls) {
  std::map<int64_t, GroupMembers> groups;
  const std::vector<MessageBytes> pieces = calls.pieces();
  for (size_t task = 0; task < pieces.size(); ++task) {
    MessageBytes bytes = pieces[task];
    const CollectiveCall call = take<CollectiveCall>(bytes);
    if (call.rank < 0 || call.rank >= call.size || call.root < 0 || call.root >= call.size)
      throw Error(Code::damaged, "a message between tasks makes no sense");
    groups[call.group].push_back({static_cast<int>(task), call, bytes});
  }
  return groups;
}

}  // namespace

Gathered answer(const Gathered& calls, RootRelay& relay) {
  std::vector<std::vector<std::byte>> replies(calls.sizes.size(), joined({value_bytes(Reply{})}));
  bool progress = false;
  for (auto& [number, members] : by_group(calls)) {
    if (std::ssize(members) != members[0].call.size) continue;
    progress = true;
    std::ranges::sort(members, {}, [](const Member& m) { return m.call.rank; });
    Results results(members.size());
    const auto problem = attempt([&, &group = members] { complete(group, results, relay); });
    for (size_t m = 0; m < members.size(); ++m)
      replies[static_cast<size_t>(members[m].task)] =
          problem ? packed(*problem) : joined({value_bytes(Reply{Reply::ReplyState::done}), results[m]});
  }
  if (!progress) {
    const auto stuck =
        packed(Error(Code::mismatch, "the tasks wait for each other in calls that do not match"));
    std::ranges::fill(replies, stuck);
  }
  Gathered all;
  for (const auto& reply : replies) all.add(reply);
  return all;
}

}  // namespace sheaf::star
