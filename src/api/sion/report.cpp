#include "api/sion/report.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "api/sion/exported.hpp"

namespace sheaf::api {

namespace {

thread_local std::string last_error;
std::atomic<bool> printing{true};

// The only rank whose messages are wanted (SION_ERROR_MSG_RANK); -1: all.
int wanted_rank() {
  const char* set = std::getenv("SION_ERROR_MSG_RANK");
  return set ? std::atoi(set) : -1;
}

void print(const char* level, std::string_view message, int task, int rc) {
  if (!printing.load(std::memory_order_relaxed)) return;
  const int wanted = wanted_rank();
  if (wanted >= 0 && task >= 0 && task != wanted) return;
  std::fprintf(stderr, "%s on rank %d, rc=%d: %.*s\n", level, task, rc, static_cast<int>(message.size()),
               message.data());
}

}  // namespace

void report(std::string_view function, const Error& error, int task, int return_code) {
  last_error.assign(function).append(": ").append(error.what());
  print("SION_ERROR_RETURN", last_error, task, return_code);
}

void warn(std::string_view function, std::string_view message, int task) {
  print("SION_ERROR_WARN", std::string(function).append(": ").append(message), task, 0);
}

}  // namespace sheaf::api

const char* sheaf_last_error(void) { return sheaf::api::last_error.c_str(); }

int sheaf_print_errors(int on) { return sheaf::api::printing.exchange(on != 0); }

const char* sheaf_version(void) { return "1.0.0"; }
