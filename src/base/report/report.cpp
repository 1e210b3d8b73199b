#include "base/report/report.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <new>
#include <string>

#include "base/last_message.hpp"
#include "base/printable.hpp"
#include "base/setting.hpp"
#include "base/warnings.hpp"

namespace sheaf {

namespace {

constinit LastMessage last_error;
[[gnu::tls_model("initial-exec")]] constinit thread_local ErrorFacts last_facts;

constinit ReportHooks hooks;

std::atomic<bool> printing{true};

enum class Audience { all_readers, readers_of_this_rank };

// Returns the number in the environment variable, or -1 if it contains none.
int64_t selected(const char* variable) { return quiet_number_setting(variable).value_or(-1); }

// Returns true if the environment selects a number (`wanted`) and the message has a different one (`number`).
// A message without a number, -1, is never unwanted.
bool is_unwanted(int64_t wanted, int number) { return wanted >= 0 && number >= 0 && number != wanted; }

bool is_wanted(int task, int thread, Audience audience) {
  try {
    const int64_t rank = selected("SION_ERROR_MSG_RANK");
    if (audience == Audience::readers_of_this_rank && rank < 0) return false;
    return !is_unwanted(rank, task) && !is_unwanted(selected("SION_ERROR_MSG_THREAD"), thread);
  } catch (const std::exception&) {  // no memory to read the variables
    return audience == Audience::all_readers;
  }
}

// Copies the message to the debug log and prints it if it is wanted. With readers_of_this_rank, prints it
// only if SION_ERROR_MSG_RANK selects this rank.
void print(const char* level, const char* message, int task, int rc, Audience audience) {
  hooks.log(message, task);
  const int thread = hooks.thread_number();
  if (!printing.load(std::memory_order_relaxed) || !is_wanted(task, thread, audience)) return;
  std::array<char, 32> where{};
  if (thread >= 0) std::snprintf(where.data(), where.size(), ", thread %d", thread);
  std::fprintf(stderr, "%s on rank %d%s, rc=%d: %s\n", level, task, where.data(), rc, message);
}

}  // namespace

const ErrorFacts& last_error_facts() { return last_facts; }

const char* last_error_text() { return last_error.text(last_facts.code != Code::ok); }

bool print_errors(bool on) { return printing.exchange(on); }

void set_report_hooks(const ReportHooks& used) { hooks = used; }

void report(std::string_view function, const std::exception& error, int task, int return_code) {
  const auto* const own = dynamic_cast<const Error*>(&error);
  if (own != nullptr)
    last_facts = {own->code(), own->errno_value(), own->task() >= 0 ? own->task() : task};
  else
    last_facts = {Code::io, dynamic_cast<const std::bad_alloc*>(&error) ? ENOMEM : 0, task};
  last_error.set(function, error);
  const auto audience =
      own != nullptr && own->is_reported_elsewhere() ? Audience::readers_of_this_rank : Audience::all_readers;
  print("SION_ERROR_RETURN", last_error_text(), task, return_code, audience);
}

void warn(std::string_view function, std::string_view message, int task) {
  print("SION_ERROR_WARN", printable(std::string(function).append(": ").append(message)).c_str(), task, 0,
        Audience::all_readers);
}

bool warnings_wait() { return any_warnings(); }

void say_warnings(std::string_view function, int task) {
  for (const std::string& text : take_warnings()) {
    try {
      warn(function, text, task);
    } catch (const std::exception&) {  // no memory for this warning
    }
  }
}

}  // namespace sheaf
