#include "layout/collective.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/assert.hpp"
#include "base/checked.hpp"

namespace sheaf::layout {

namespace {

int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

int64_t max_collectors(int64_t ntasks) {
  return ntasks >= 512 ? 32 : ntasks >= 256 ? 16 : ntasks >= 32 ? 8 : ntasks >= 16 ? 4 : ntasks;
}

int64_t aligned(int64_t bytes, int64_t fsblksize) {
  return must_fit(align_up(bytes, fsblksize), "the chunks of a group");
}

}  // namespace

int64_t bytes_per_collector(int64_t total, int64_t ntasks, int64_t fsblksize, int64_t tasks_per_collector) {
  SHEAF_ASSERT(total >= 0 && ntasks >= 0 && fsblksize > 0);
  if (total == 0 || ntasks == 0) return 0;
  const int64_t most =
      tasks_per_collector > 0 ? ceil_div(ntasks, tasks_per_collector) : max_collectors(ntasks);
  return aligned(total / std::min(most, ceil_div(total, fsblksize)), fsblksize);
}

int64_t GroupPass::add(int64_t task, int64_t request, int64_t average, Begins begins) {
  SHEAF_ASSERT(task > first && request >= 0);  // tasks ascend
  const auto sum = checked_add(filled, request);
  const bool joins =
      first >= 0 && (begins == Begins::first_task || (begins == Begins::overflow && sum && *sum <= average));
  if (joins) {
    filled = must_fit(sum, "the chunks of a group");
  } else {
    before = must_fit(checked_add(before, filled), "the chunks of the groups");
    filled = request;
    first = task;
    ++number;
  }
  return first;
}

void GroupPassBack::complete(int64_t task, GroupPlace& place) {
  SHEAF_ASSERT(place.first >= 0 && place.first <= task && place.number >= 0);
  const int64_t count = behind.count > 0 ? behind.count : place.number + 1;
  if (place.first != behind.first)
    behind = {place.first, task + 1 - place.first, place.sum, place.number, count, place.before};
  place = behind;
}

int64_t choose_collector(std::span<const int64_t> nodes, int64_t nnodes, const GroupPlace& place,
                         int64_t file, int64_t nfiles) {
  SHEAF_ASSERT(!nodes.empty() && place.number >= 0 && place.number < place.count);
  SHEAF_ASSERT(file >= 0 && nfiles > 0);  // serial writers give a single file the number 1
  const int64_t share = nnodes * (file * place.count + place.number) / (nfiles * place.count);
  const auto nearest =
      std::ranges::min_element(nodes, {}, [share](int64_t node) { return std::abs(node - share); });
  return nearest - nodes.begin();
}

int64_t packed_chunk(int64_t request, int64_t sum, bool is_last, int64_t fsblksize) {
  SHEAF_ASSERT(request >= 0 && request <= sum && fsblksize > 0);
  return is_last ? must_fit(checked_add(request, aligned(sum, fsblksize) - sum), "the chunk size") : request;
}

int64_t merged_chunk(int64_t request, int64_t sum, bool is_collector, int64_t fsblksize) {
  SHEAF_ASSERT(request >= 0 && request <= sum && fsblksize > 0);
  return aligned(is_collector ? sum : request, fsblksize);
}

Placement renumber(int32_t task, int32_t ntasks, int32_t nfiles, int32_t tasks_per_collector,
                   const Candidate& candidate) {
  const int64_t unit = int64_t{nfiles} * tasks_per_collector;
  if (nfiles < 1 || tasks_per_collector < 2 || ntasks % unit != 0)
    throw Error(Code::invalid_argument,
                "collmsa: " + std::to_string(ntasks) + " tasks are no multiple of " + std::to_string(nfiles) +
                    " files of " + std::to_string(tasks_per_collector) + " (>= 2) tasks per collector");
  const int32_t groups = ntasks / tasks_per_collector;
  const bool collects = candidate.may_collect && candidate.before < groups;
  const int32_t sender = task - std::min(candidate.before, groups);
  const int32_t senders = tasks_per_collector - 1;
  const int32_t group = collects ? candidate.before : sender / senders;
  const int32_t place = collects ? 0 : 1 + sender % senders;
  return {group % nfiles, group / nfiles * tasks_per_collector + place};
}

}  // namespace sheaf::layout
