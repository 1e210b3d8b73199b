#include "comm_teams/star_answer.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/helpers.hpp"

namespace sheaf::star {
namespace {

using Bytes = std::span<const std::byte>;

struct Member {
  int task = 0;  // in the hub
  Call call;
  Bytes contribution;
};

using Members = std::vector<Member>;                  // of one group, in rank order
using Results = std::vector<std::vector<std::byte>>;  // one per member

template <class T>
void append(std::vector<std::byte>& to, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

template <class T>
T take(Bytes& from) {
  T value;
  if (from.size() < sizeof value) throw Error(Code::damaged, "a message between tasks is too short");
  std::memcpy(&value, from.data(), sizeof value);
  from = from.subspan(sizeof value);
  return value;
}

const char* name_of(Op op) {
  static constexpr const char* names[] = {"barrier", "broadcast", "all_max", "all_sum",      "prefix_sum",
                                          "gather",  "scatter",   "split",   "split_by_node"};
  return names[static_cast<size_t>(op)];
}

void check_match(const Members& members) {
  const Call& first = members[0].call;
  for (const Member& m : members) {
    const Call& c = m.call;
    if (c.op == first.op && c.root == first.root && c.length == first.length) continue;
    throw Error(Code::mismatch, std::string("the tasks of a group made different calls: task 0 ") +
                                    name_of(first.op) + ", task " + std::to_string(c.rank) + " " +
                                    name_of(c.op));
  }
}

int64_t value_at(Bytes values, size_t i) {
  int64_t value;
  std::memcpy(&value, values.data() + 8 * i, 8);
  return value;
}

void reduce(const Members& members, Results& results) {
  const Op op = members[0].call.op;
  std::vector<int64_t> sums(members[0].contribution.size() / 8, op == Op::all_max ? INT64_MIN : 0);
  for (size_t m = 0; m < members.size(); ++m)
    for (size_t i = 0; i < sums.size(); ++i) {
      if (op == Op::prefix_sum) append(results[m], sums[i]);
      const int64_t value = value_at(members[m].contribution, i);
      sums[i] = op == Op::all_max ? std::max(sums[i], value) : sums[i] + value;
    }
  if (op == Op::prefix_sum) return;
  for (auto& result : results)
    for (const int64_t sum : sums) append(result, sum);
}

void gather(const Members& members, std::vector<std::byte>& result) {
  for (const Member& m : members) append(result, int64_t{std::ssize(m.contribution)});
  for (const Member& m : members) result.insert(result.end(), m.contribution.begin(), m.contribution.end());
}

void scatter(const Members& members, Results& results) {
  Bytes joined = members[static_cast<size_t>(members[0].call.root)].contribution;
  Gathered pieces;
  for (int64_t count = take<int64_t>(joined); count > 0; --count)
    pieces.sizes.push_back(take<int64_t>(joined));
  pieces.bytes.assign(joined.begin(), joined.end());
  check_pieces(pieces, static_cast<int>(members.size()));
  const auto parts = pieces.pieces();
  for (size_t m = 0; m < members.size(); ++m) results[m].assign(parts[m].begin(), parts[m].end());
}

void split(const Members& members, Results& results, int64_t& next_group) {
  std::map<int64_t, std::vector<size_t>> groups;
  for (size_t m = 0; m < members.size(); ++m)
    if (members[m].call.color >= 0) groups[members[m].call.color].push_back(m);
  std::vector<Place> places(members.size());
  for (auto& [color, group] : groups) {
    std::ranges::stable_sort(group, {}, [&](size_t m) { return members[m].call.key; });
    Place place{next_group++, 0, static_cast<int32_t>(group.size())};
    for (const size_t m : group) {
      places[m] = place;
      ++place.rank;
    }
  }
  for (size_t m = 0; m < members.size(); ++m) append(results[m], places[m]);
}

void complete(Members& members, Results& results, int64_t& next_group,
              const std::function<int64_t(int, int64_t)>& node_of) {
  check_match(members);
  const auto root = static_cast<size_t>(members[0].call.root);
  switch (members[0].call.op) {
    case Op::barrier:
      return;
    case Op::broadcast:
      for (auto& result : results)
        result.assign(members[root].contribution.begin(), members[root].contribution.end());
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
      for (Member& m : members) m.call.color = node_of(m.task, m.call.color);
      [[fallthrough]];
    case Op::split:
      return split(members, results, next_group);
  }
}

std::vector<std::byte> packed(const Reply& reply, Bytes result) {
  std::vector<std::byte> bytes;
  append(bytes, reply);
  bytes.insert(bytes.end(), result.begin(), result.end());
  return bytes;
}

std::vector<std::byte> packed(const Error& error) {
  const std::string text = error.what();
  return packed({Reply::State::error, static_cast<int32_t>(error.code())}, std::as_bytes(std::span(text)));
}

std::map<int64_t, Members> by_group(const Gathered& calls) {
  std::map<int64_t, Members> groups;
  const std::vector<Bytes> pieces = calls.pieces();
  for (size_t task = 0; task < pieces.size(); ++task) {
    Bytes bytes = pieces[task];
    const Call call = take<Call>(bytes);
    if (call.rank < 0 || call.rank >= call.size || call.root < 0 || call.root >= call.size)
      throw Error(Code::damaged, "a message between tasks makes no sense");
    groups[call.group].push_back({static_cast<int>(task), call, bytes});
  }
  return groups;
}

}  // namespace

std::vector<std::byte> pack(const Call& call, Bytes contribution) {
  std::vector<std::byte> bytes;
  bytes.reserve(sizeof call + contribution.size());
  append(bytes, call);
  bytes.insert(bytes.end(), contribution.begin(), contribution.end());
  return bytes;
}

Gathered answer(const Gathered& calls, int64_t& next_group,
                const std::function<int64_t(int, int64_t)>& node_of) {
  std::vector<std::vector<std::byte>> replies(calls.sizes.size(), packed(Reply{}, {}));
  bool progress = false;
  for (auto& [number, members] : by_group(calls)) {
    if (std::ssize(members) != members[0].call.size) continue;
    progress = true;
    std::ranges::sort(members, {}, [](const Member& m) { return m.call.rank; });
    Results results(members.size());
    const auto problem = attempt([&, &group = members] { complete(group, results, next_group, node_of); });
    for (size_t m = 0; m < members.size(); ++m)
      replies[static_cast<size_t>(members[m].task)] =
          problem ? packed(*problem) : packed({Reply::State::done, 0}, results[m]);
  }
  if (!progress) {
    const auto stuck =
        packed(Error(Code::mismatch, "the tasks wait for each other in calls that do not match"));
    std::ranges::fill(replies, stuck);
  }
  Gathered joined;
  for (const auto& reply : replies) joined.add(reply);
  return joined;
}

}  // namespace sheaf::star
