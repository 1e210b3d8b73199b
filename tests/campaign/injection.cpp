#include "campaign/injection.hpp"

#include <cstring>

namespace sheaf::test::campaign {

const char* name_of(Failure failure) {
  switch (failure) {
    case Failure::none:
      return "no failure";
    case Failure::once:
      return "one failing operation";
    case Failure::several:
      return "several failing operations";
    case Failure::from_then_on:
      return "all operations fail from one on";
    case Failure::killed:
      return "killed";
    case Failure::power_lost:
      return "killed by a loss of power";
    case Failure::host_lost:
      return "killed by the loss of a host";
    case Failure::read_only_directory:
      return "directory becomes read-only";
    case Failure::second_job:
      return "second job";
  }
  return "unknown";
}

std::string Injection::describe() const {
  std::string text = name_of(failure);
  if (failure == Failure::none) return text;
  if (failure == Failure::second_job) return text + " before call " + std::to_string(at);
  text +=
      std::string(", ") + std::strerror(plan.errno_value) + " at operation " + std::to_string(plan.fail_at);
  for (const int64_t more : plan.also_at) text += ", " + std::to_string(more);
  if (plan.half_first) text += ", transfers fail after half of their bytes";
  return text;
}

Injection draw_injection(uint64_t seed, std::initializer_list<Failure> kinds, int64_t operations,
                         int64_t calls) {
  Random random(seed * 1'000'003 + 17);
  Injection drawn;
  drawn.seed = seed;
  drawn.failure = random.pick(kinds);
  FaultPlan& plan = drawn.plan;
  plan.errno_value = random.pick({EIO, ENOSPC, EDQUOT, EMFILE});
  plan.half_first = random.chance(2);
  const int64_t at = random.below(operations);
  switch (drawn.failure) {
    case Failure::none:
      break;
    case Failure::second_job:
      drawn.at = static_cast<uint64_t>(random.below(calls));
      break;
    case Failure::several: {
      const bool close_together = random.chance(2);
      for (int64_t more = 1 + random.below(4); more > 0; --more)
        plan.also_at.push_back(close_together ? at + random.below(12) : random.below(operations));
      plan.fail_at = at;
      break;
    }
    case Failure::read_only_directory:
      plan.errno_value = random.pick({EROFS, EACCES});
      plan.changes_names = true;
      plan.from_then_on = true;
      plan.fail_at = random.below(6);
      break;
    case Failure::once:
    case Failure::from_then_on:
    case Failure::killed:
    case Failure::power_lost:
    case Failure::host_lost:
      plan.fail_at = at;
      plan.from_then_on = drawn.failure != Failure::once;
      plan.dies = drawn.ends_job();
      break;
  }
  return drawn;
}

}  // namespace sheaf::test::campaign
