#include "comm/agree.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "comm/constants.hpp"

namespace sheaf {

namespace {

struct ErrorReport {
  int32_t code;
  int32_t errno_value;
  int32_t length;
  char text[1012];
};

[[noreturn, gnu::noinline]] void fail_together(Comm& comm, const std::optional<Error>& mine, int failing) {
  ErrorReport report{};
  if (comm.rank() == failing) {
    report.code = static_cast<int32_t>(mine->code());
    report.errno_value = mine->errno_value();
    report.length = static_cast<int32_t>(std::min(std::strlen(mine->what()), sizeof report.text));
    std::memcpy(report.text, mine->what(), static_cast<size_t>(report.length));
  }
  comm.broadcast(std::as_writable_bytes(std::span(&report, 1)), failing);
  const auto received = [&] {
    const std::string text(report.text, static_cast<size_t>(report.length));
    return Error(static_cast<Code>(report.code), "task " + std::to_string(failing) + ": " + text,
                 report.errno_value, failing);
  };
  Error error = mine ? *mine : received();
  error.set_reported_elsewhere(comm.rank() != failing);
  throw error;
}

}  // namespace

void agree(Comm& comm, const std::optional<Error>& mine, std::span<int64_t> values) {
  std::array<int64_t, comm_constants::max_agreed_values + 1> all{};
  const auto used = std::span(all).first(values.size() + 1);
  // The entry is larger on lower ranks, so the maximum identifies the lowest failing rank.
  used[0] = mine ? comm.size() - comm.rank() : 0;
  std::copy(values.begin(), values.end(), used.begin() + 1);
  comm.all_max(used);
  if (used[0] > 0) fail_together(comm, mine, comm.size() - static_cast<int>(used[0]));
  std::copy(used.begin() + 1, used.end(), values.begin());
}

void agree_with(Comm& comm, const std::optional<Error>& mine, int actor) {
  int64_t failed = comm.rank() == actor && mine;
  comm.broadcast(std::as_writable_bytes(std::span(&failed, 1)), actor);
  if (failed) fail_together(comm, mine, actor);
}

}  // namespace sheaf
