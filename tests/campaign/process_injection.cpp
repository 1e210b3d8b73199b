#include "campaign/process_injection.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace sheaf::test::campaign {

namespace {

const char* name_of(ProcessFailure failure) {
  switch (failure) {
    case ProcessFailure::once:
      return "one call fails";
    case ProcessFailure::several:
      return "several calls fail";
    case ProcessFailure::from_then_on:
      return "all calls fail from one on";
    case ProcessFailure::short_transfers:
      return "interrupted and short transfers";
    case ProcessFailure::killed:
      return "killed";
    case ProcessFailure::terminated:
      return "terminated";
    case ProcessFailure::read_only_directory:
      return "directory becomes read-only";
    case ProcessFailure::clock_set_back:
      return "clock set back";
    case ProcessFailure::no_memory:
      return "an allocation fails";
    case ProcessFailure::no_memory_from_then_on:
      return "all allocations fail from one on";
    case ProcessFailure::second_job:
      return "second job";
  }
  return "unknown";
}

template <class Function>
void look_up(Function& function, const char* name) {
  *reinterpret_cast<void**>(&function) = dlsym(RTLD_DEFAULT, name);
}

}  // namespace

std::string ProcessInjection::describe() const {
  std::string text = name_of(failure);
  if (failure == ProcessFailure::once || failure == ProcessFailure::several ||
      failure == ProcessFailure::from_then_on)
    text += std::string(" (") + std::strerror(error) + ")";
  return text;
}

ProcessInjection draw_process_injection(uint64_t seed) {
  Random random(seed * 1'000'003 + 29);
  ProcessInjection drawn;
  drawn.seed = seed;
  drawn.failure = static_cast<ProcessFailure>(random.below(process_failures));
  drawn.error = random.pick({EIO, ENOSPC, EDQUOT, EMFILE});
  return drawn;
}

FailingCalls::FailingCalls() {
  look_up(plan_, "failing_calls_begin");
  look_up(counted_, "failing_calls_count");
  look_up(plan_allocations_, "failing_allocations_begin");
  look_up(allocations_, "failing_allocations_count");
  look_up(inside_, "failing_allocations_inside");
}

void FailingCalls::count(const std::string& prefix) const {
  failing_calls_plan plan{};
  plan.directory = prefix.c_str();
  if (plan_) plan_(&plan);
  if (plan_allocations_) plan_allocations_(-1, 0);
}

void FailingCalls::inject(const ProcessInjection& injection, const std::string& prefix, int process,
                          int processes, const UndisturbedCounts& counted) const {
  Random random(injection.seed * 977 + static_cast<uint64_t>(process));
  count(prefix);
  if (!plan_) return;
  const int victim = static_cast<int>(injection.seed / 3 % static_cast<uint64_t>(processes));
  const bool meets_it = process == victim || random.chance(2);
  if (!meets_it || injection.failure == ProcessFailure::second_job) return;
  if (injection.needs_memory()) {
    if (plan_allocations_)
      plan_allocations_(random.below(std::max(counted.allocations, 1L)),
                        injection.failure == ProcessFailure::no_memory_from_then_on);
    return;
  }
  failing_calls_plan plan{};
  plan.directory = prefix.c_str();
  const long calls = std::max(counted.calls, 1L);
  const bool early = random.chance(4);
  plan.at[plan.count++] = random.below(early ? std::min(calls, 8L) : calls);
  plan.error = injection.error;
  switch (injection.failure) {
    case ProcessFailure::several:
      for (int64_t more = 1 + random.below(4); more > 0; --more)
        plan.at[plan.count++] = random.chance(2) ? plan.at[0] + random.below(12) : random.below(calls);
      break;
    case ProcessFailure::from_then_on:
      plan.from_then_on = 1;
      break;
    case ProcessFailure::short_transfers:
      plan.shortens = 1;
      break;
    case ProcessFailure::killed:
      plan.kills_with = SIGKILL;
      break;
    case ProcessFailure::terminated:
      plan.kills_with = SIGTERM;
      break;
    case ProcessFailure::read_only_directory:
      plan.from_then_on = plan.only_names = 1;
      plan.error = EROFS;
      break;
    case ProcessFailure::clock_set_back:
      plan.clock_set_back = random.pick({1L, 100L, 100'000L, 40'000'000L});
      break;
    default:
      break;
  }
  plan_(&plan);
}

UndisturbedCounts FailingCalls::stop() const {
  UndisturbedCounts counted;
  if (plan_) {
    counted.calls = counted_();
    plan_(nullptr);
  }
  if (plan_allocations_) {
    counted.allocations = allocations_();
    plan_allocations_(-1, 0);
  }
  return counted;
}

}  // namespace sheaf::test::campaign
