#include "api/sion/handles/report.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "api/sion/handles/debug_log.hpp"
#include "api/sion/handles/exported.hpp"
#include "base/printable.hpp"
#include "base/setting.hpp"
#include "base/warnings.hpp"

namespace sheaf::api {

namespace {

thread_local std::string last_error;
std::atomic<bool> printing{true};

enum class Audience { everybody, readers_of_this_rank };

// The number that a variable selects; -1: none.
int64_t selected(const char* variable) { return quiet_number_setting(variable).value_or(-1); }

// Whether the environment selects another number than this one. Messages without a number are not selected.
bool is_unwanted(int64_t wanted, int number) { return wanted >= 0 && number >= 0 && number != wanted; }

// readers_of_this_rank: prints only if SION_ERROR_MSG_RANK selects this rank.
void print(const char* level, std::string_view text, int task, int rc, Audience audience) {
  const std::string message = printable(text);
  debug_line(Subject::errors, message, task);
  if (!printing.load(std::memory_order_relaxed)) return;
  const int thread = thread_number();
  const int64_t rank = selected("SION_ERROR_MSG_RANK");
  if (audience == Audience::readers_of_this_rank && rank < 0) return;
  if (is_unwanted(rank, task) || is_unwanted(selected("SION_ERROR_MSG_THREAD"), thread)) return;
  const std::string where = thread < 0 ? "" : ", thread " + std::to_string(thread);
  std::fprintf(stderr, "%s on rank %d%s, rc=%d: %s\n", level, task, where.c_str(), rc, message.c_str());
}

}  // namespace

constinit thread_local ErrorFacts last_facts;

void report(std::string_view function, const Error& error, int task, int return_code) {
  last_facts = {error.code(), error.errno_value(), error.task() >= 0 ? error.task() : task};
  last_error.assign(function).append(": ").append(error.what());
  const auto audience =
      error.is_reported_elsewhere() ? Audience::readers_of_this_rank : Audience::everybody;
  print("SION_ERROR_RETURN", last_error, task, return_code, audience);
}

void warn(std::string_view function, std::string_view message, int task) {
  print("SION_ERROR_WARN", std::string(function).append(": ").append(message), task, 0, Audience::everybody);
}

bool warnings_wait() { return any_warnings(); }

void say_warnings(std::string_view function, int task) {
  for (const std::string& text : take_warnings()) warn(function, text, task);
}

}  // namespace sheaf::api

const char* sheaf_last_error(void) { return sheaf::api::last_error.c_str(); }

int sheaf_print_errors(int on) { return sheaf::api::printing.exchange(on != 0); }

const char* sheaf_version(void) { return SHEAF_VERSION_STRING; }
