// comm_model: makes random sequences of calls on a Comm and its splits, and compares the results on every
// task with those of a model.
//
// All tasks draw the same calls from one seed. A task knows the members of its groups (as ranks in the first
// group) and the contribution of each member, so it can compute the result of every call.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "comm/comm.hpp"

namespace sheaf::test {

inline void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("Comm breaks its contract: ") + what);
}

// splitmix64: a hash function that serves as a random number generator.
inline uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

inline std::byte pattern_byte(uint64_t key, size_t i) { return static_cast<std::byte>(mix(key * 8191 + i)); }

inline std::vector<std::byte> pattern(int64_t key, int64_t length) {
  std::vector<std::byte> bytes(static_cast<size_t>(length));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern_byte(static_cast<uint64_t>(key), i);
  return bytes;
}

inline bool is_pattern(int64_t key, std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != pattern_byte(static_cast<uint64_t>(key), i)) return false;
  return true;
}

// One task's view of a group: the Comm and the members.
struct ModelGroup {
  Comm* comm;
  std::unique_ptr<Comm> owned;
  std::vector<int> members;  // ranks in the first group
};

class RandomCalls {
 public:
  RandomCalls(Comm& comm, uint64_t seed) : seed_(seed) {
    std::vector<int> all(static_cast<size_t>(comm.size()));
    std::iota(all.begin(), all.end(), 0);
    groups_.push_back({&comm, nullptr, std::move(all)});
  }

  // Makes call number `number` of the sequence. All tasks draw the same operation and the same number of
  // splits. Each task makes the call on its group after so many splits.
  void step(uint64_t number) {
    number_ = number;
    const uint64_t draw = mix(seed_ * 1000003 + number);
    if (groups_.size() > 1 && draw % 11 == 0) return groups_.pop_back();
    group_ = &groups_[(draw >> 8) % groups_.size()];
    const auto size = static_cast<uint64_t>(group_->comm->size());
    const int root = static_cast<int>((draw >> 16) % size);
    switch ((draw >> 40) % 8) {
      case 0:
        return group_->comm->barrier();
      case 1:
        return broadcast(root, static_cast<int64_t>((draw >> 32) % 100));
      case 2:
        return reduce((draw >> 32) % 5, false);
      case 3:
        return reduce((draw >> 32) % 5, true);
      case 4:
        return prefix((draw >> 32) % 5);
      case 5:
        return gather(root);
      case 6:
        return scatter(root);
      default:
        return groups_.size() < 4 ? split(static_cast<int>((draw >> 32) % 3) + 1) : prefix(1);
    }
  }

 private:
  uint64_t random(int member, uint64_t salt) const {
    return mix(mix(seed_ + number_ * 131) + static_cast<uint64_t>(member) * 17 + salt);
  }
  int64_t value(int member, uint64_t i) const {
    return static_cast<int64_t>(random(member, i) % 1000001) - 500000;
  }
  int64_t length(int member) const {
    return static_cast<int64_t>(random(member, 99) % 40) * (member % 4 != 1);
  }
  int64_t key(int member) const { return static_cast<int64_t>(random(member, 98) >> 1); }
  int me() const { return member(group_->comm->rank()); }
  int member(int rank) const { return group_->members[static_cast<size_t>(rank)]; }

  void broadcast(int root, int64_t bytes) {
    std::vector<std::byte> data = pattern(group_->comm->rank() == root ? key(me()) : 0, bytes);
    group_->comm->broadcast(data, root);
    require(is_pattern(key(member(root)), data), "random broadcast");
  }

  std::vector<int64_t> my_values(uint64_t count) const {
    std::vector<int64_t> values(count);
    for (uint64_t i = 0; i < count; ++i) values[i] = value(me(), i);
    return values;
  }

  void reduce(uint64_t count, bool sum) {
    std::vector<int64_t> values = my_values(count);
    sum ? group_->comm->all_sum(values) : group_->comm->all_max(values);
    for (uint64_t i = 0; i < count; ++i) {
      int64_t expected = sum ? 0 : INT64_MIN;
      for (const int other : group_->members)
        expected = sum ? expected + value(other, i) : std::max(expected, value(other, i));
      require(values[i] == expected, sum ? "random all_sum" : "random all_max");
    }
  }

  void prefix(uint64_t count) {
    std::vector<int64_t> values = my_values(count);
    group_->comm->prefix_sum(values);
    for (uint64_t i = 0; i < count; ++i) {
      int64_t expected = 0;
      for (int rank = 0; rank < group_->comm->rank(); ++rank) expected += value(member(rank), i);
      require(values[i] == expected, "random prefix_sum");
    }
  }

  void gather(int root) {
    const Gathered all = group_->comm->gather(pattern(key(me()), length(me())), root);
    if (group_->comm->rank() != root) return;
    require(all.sizes.size() == group_->members.size(), "random gather: sizes");
    std::span<const std::byte> rest = all.bytes;
    for (size_t rank = 0; rank < all.sizes.size(); ++rank) {
      const int other = group_->members[rank];
      require(all.sizes[rank] == length(other), "random gather: length");
      require(is_pattern(key(other), rest.first(static_cast<size_t>(all.sizes[rank]))),
              "random gather: bytes");
      rest = rest.subspan(static_cast<size_t>(all.sizes[rank]));
    }
    require(rest.empty(), "random gather: no more than the contributions");
  }

  void scatter(int root) {
    Gathered pieces;
    if (group_->comm->rank() == root)
      for (const int other : group_->members) {
        const std::vector<std::byte> piece = pattern(key(other), length(other));
        pieces.bytes.insert(pieces.bytes.end(), piece.begin(), piece.end());
        pieces.sizes.push_back(length(other));
      }
    require(group_->comm->scatter(pieces, root) == pattern(key(me()), length(me())), "random scatter");
  }

  void split(int colors) {
    const auto color = [&](int m) { return static_cast<int>(random(m, 1) % static_cast<uint64_t>(colors)); };
    const auto order = [&](int m) { return static_cast<int>(random(m, 2) % 7) - 3; };
    // Only the deepest group is split, so all tasks have the same number of groups.
    group_ = &groups_.back();
    ModelGroup part;
    part.owned = group_->comm->split(color(me()), order(me()));
    part.comm = part.owned.get();
    std::ranges::copy_if(group_->members, std::back_inserter(part.members),
                         [&](int m) { return color(m) == color(me()); });
    std::ranges::stable_sort(part.members, {}, order);
    require(part.comm->size() == std::ssize(part.members), "random split: size");
    require(part.members[static_cast<size_t>(part.comm->rank())] == me(), "random split: order");
    groups_.push_back(std::move(part));
  }

  uint64_t seed_;
  uint64_t number_ = 0;
  std::vector<ModelGroup> groups_;
  ModelGroup* group_ = nullptr;
};

inline void check_random_calls(Comm& comm, uint64_t seed, int steps) {
  RandomCalls calls(comm, seed);
  for (int number = 0; number < steps; ++number) calls.step(static_cast<uint64_t>(number));
}

}  // namespace sheaf::test
