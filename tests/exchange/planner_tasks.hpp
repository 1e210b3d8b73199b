// exchange/planner_tasks: random accesses of a few tasks, for tests of exchange/collective_planner. Nothing
// here communicates or opens a file: the facts of the tasks are combined as the reduction does.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "comm/reduce.hpp"
#include "exchange/collective_planner.hpp"
#include "exchange/pieces/constants.hpp"

namespace sheaf::exchange::planner_tasks {

using layout::TypeMap;
using Buffering = CollectiveOptions::Buffering;

inline constexpr int64_t KiB = 1 << 10, MiB = 1 << 20;

// The accesses of all tasks of a call: `count` pieces of `piece` bytes, `stride` bytes apart, at `begin`.
struct Part {
  int64_t begin, piece, stride, count;
};

// Returns the combined facts of two tasks, from the words of the reduction.
inline CallFacts combined(const CallFacts& mine, CallFacts theirs) {
  CallFacts result = mine;
  std::array<int64_t, FieldWords::of<CallFacts>().count()> packed{}, also_packed{};
  as_words<CallFacts>({&result, 1}, packed, [&](auto words) {
    as_words<CallFacts>({&theirs, 1}, also_packed, [&](auto others) {
      for (size_t i = 0; i < words.size(); ++i) words[i] = std::max(words[i], others[i]);
    });
  });
  return result;
}

class Tasks {
 public:
  explicit Tasks(std::vector<Part> parts) : parts_(std::move(parts)) {
    for (const Part& part : parts_) {
      types_.push_back(type_of(part));
      planners_.emplace_back(std::ssize(parts_));
    }
  }

  // Replaces the access of a task.
  void set_part(size_t task, const Part& part) {
    parts_[task] = part;
    types_[task] = type_of(part);
  }
  size_t size() const { return parts_.size(); }
  const Part& part(size_t task) const { return parts_[task]; }
  CollectivePlanner& planner(size_t task) { return planners_[task]; }
  FileAccess access(size_t task) const {
    const Part& part = parts_[task];
    if (part.count * part.piece == 0) return {};
    return {.displacement = part.begin, .filetype = &types_[task], .to = part.piece * part.count};
  }
  // Begins and summarizes a call in which all tasks exchange everything.
  CallSummary summarize(const CollectiveOptions& how, bool several_hosts = true) {
    CallFacts facts;
    for (size_t task = 0; task < size(); ++task)
      facts = combined(facts, planners_[task].begin(access(task), how));
    std::optional<CallSummary> summary;
    for (CollectivePlanner& planner : planners_) summary = planner.summarize(facts);
    if (several_hosts) return *summary;
    summary->bytes = summary->lengths = summary->pieces = 0;
    for (size_t task = 0; task < size(); ++task) {
      const FileAccess own = access(task);
      if (own.bytes() <= 0) continue;
      summary->bytes += own.bytes();
      summary->pieces += own.pieces();
      summary->lengths += length_in_units(own, how.block);
    }
    summary->pieces = std::max<int64_t>(summary->pieces, 1);
    return *summary;
  }
  PoolFacts one_host(const CollectiveOptions& how) const {
    std::vector<Extent> ranges;
    for (size_t task = 0; task < size(); ++task)
      if (const FileAccess own = access(task); own.bytes() > 0)
        ranges.push_back(Extent::between(own.low(), own.high()));
    return {false, usual_window, touched_bytes(ranges, how.block)};
  }

 private:
  static TypeMap type_of(const Part& part) {
    return TypeMap::bytes(std::max<int64_t>(part.piece, 1)).resized(0, std::max<int64_t>(part.stride, 1));
  }

  std::vector<Part> parts_;
  std::vector<TypeMap> types_;
  std::vector<CollectivePlanner> planners_;
};

class PlannerRandom {
 public:
  explicit PlannerRandom(uint64_t seed) : engine_(seed) {}
  int64_t in(int64_t from, int64_t to) { return std::uniform_int_distribution(from, to)(engine_); }
  Part part() {
    const int64_t piece = in(1, 64 * KiB);
    return {in(0, 8 * MiB), piece, piece + in(0, 1) * in(0, 4 * piece), in(0, 20)};
  }
  std::vector<Part> parts() {
    std::vector<Part> parts;
    for (int64_t tasks = in(2, 6); std::ssize(parts) < tasks;) parts.push_back(part());
    return parts;
  }

 private:
  std::mt19937_64 engine_;
};

template <class Check>
void for_random(Check check) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PlannerRandom random(seed);
    check(random);
  }
}

}  // namespace sheaf::exchange::planner_tasks
