#include "api/sion/handles/debug_log.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/formatted.hpp"
#include "base/printable.hpp"
#include "base/report/report.hpp"
#include "base/setting.hpp"

namespace sheaf::api {
namespace {

constexpr int all_subjects = 1023;

std::atomic<int (*)()> thread_source{nullptr};

int number_in(const char* variable, int otherwise) {
  return static_cast<int>(quiet_number_setting(variable, INT_MIN, INT_MAX).value_or(otherwise));
}

// Returns the local time with microseconds as text.
std::string now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(since).count();
  const std::time_t seconds = static_cast<std::time_t>(micro / 1000000);
  std::tm calendar{};
  char text[40] = "";
  localtime_r(&seconds, &calendar);
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &calendar);
  std::snprintf(text + length, sizeof text - length, ".%06d", static_cast<int>(micro % 1000000));
  return text;
}

class Log {
 public:
  // Returns true if the log is on for a bit of `mask`.
  bool wants(int mask) {
    int wanted = mask_.load(std::memory_order_acquire);
    if (wanted == unread) wanted = read_environment();
    return (wanted & mask) != 0;
  }

  int read_environment() {
    const std::lock_guard lock(mutex_);
    const char* const base = setting("SION_DEBUG");
    if (base) base_ = base;
    ranks_.clear();
    for (const char* variable : {"SION_DEBUG_RANK", "SION_DEBUG_RANK1", "SION_DEBUG_RANK2"})
      if (const int rank = number_in(variable, -1); rank >= 0) ranks_.push_back(rank);
    silent_ = number_in("SION_DEBUG_SILENT", 0) != 0;
    const int mask = base ? number_in("SION_DEBUG_MASK", all_subjects) : 0;
    close_files();
    mask_.store(mask, std::memory_order_release);
    return mask;
  }

  void on(int mask, const char* base) {
    if (mask_.load() == unread) read_environment();
    const std::lock_guard lock(mutex_);
    if (base && *base) base_ = base;
    close_files();
    mask_.store(mask, std::memory_order_release);
  }

  void close() {
    const std::lock_guard lock(mutex_);
    close_files();
  }

  FILE* stream() {
    const std::lock_guard lock(mutex_);
    return file_of_thread();
  }

  // Returns true if lines of the library itself are suppressed.
  bool silent() const { return silent_; }

  // Writes a line. Returns false if nothing was written. A line with `task` -1 passes the filter of tasks.
  bool write(std::string_view text, std::string_view function, int task) {
    while (text.ends_with('\n')) text.remove_suffix(1);
    std::string line = now() + " ";
    if (task >= 0) line += "[" + std::to_string(task) + "] ";
    if (!function.empty()) line.append(function).append(": ");
    line.append(text).push_back('\n');
    const std::lock_guard lock(mutex_);
    if (task >= 0 && !ranks_.empty() && std::ranges::find(ranks_, task) == ranks_.end()) return false;
    FILE* const file = file_of_thread();
    if (!file) return false;
    if (set_lock_) set_lock_();
    std::fwrite(line.data(), 1, line.size(), file);
    std::fflush(file);
    if (unset_lock_) unset_lock_();
    return true;
  }

  void use_lock(void (*set)(), void (*unset)()) {
    const std::lock_guard lock(mutex_);
    set_lock_ = set && unset ? set : nullptr;
    unset_lock_ = set && unset ? unset : nullptr;
  }

 private:
  static constexpr int unread = INT_MIN;

  // Returns the file of the calling thread, or null if the log is off.
  FILE* file_of_thread() {
    if (mask_.load() == 0) return nullptr;
    const int thread = thread_number();
    if (const auto open = files_.find(thread); open != files_.end()) return open->second;
    char suffix[32];
    const char* const form = thread >= 0 ? ".%05d.%02d" : ".%05d";
    std::snprintf(suffix, sizeof suffix, form, static_cast<int>(::getpid()), thread);
    const std::string name = base_ + suffix;
    FILE* const file = std::fopen(name.c_str(), "ae");
    if (!file) {
      std::fprintf(stderr,
                   "SION_ERROR_WARN on rank -1, rc=0: the debug log '%s' cannot be written (%s) and is off\n",
                   printable(name).c_str(), std::strerror(errno));
      mask_.store(0, std::memory_order_release);
      return nullptr;
    }
    return files_[thread] = file;
  }

  void close_files() {
    for (const auto& [thread, file] : files_) std::fclose(file);
    files_.clear();
  }

  std::mutex mutex_;
  std::atomic<int> mask_{unread};
  std::string base_ = "sion_debug";
  std::vector<int> ranks_;  // empty: all
  std::atomic<bool> silent_{false};
  std::map<int, FILE*> files_;  // by thread number
  void (*set_lock_)() = nullptr;
  void (*unset_lock_)() = nullptr;
};

Log& debug_log() {
  static auto* const log = new Log;  // handles may be closed while the process exits
  return *log;
}

int print(int mask, const char* function, int rank, const char* format, va_list arguments) {
  if (!format || !debug_log().wants(mask)) return 0;
  try {
    return debug_log().write(formatted(format, arguments).value_or(""), function ? function : "", rank);
  } catch (const std::exception&) {  // memory exhausted
    return 0;
  }
}

[[maybe_unused]] const bool hooked = [] {
  set_report_hooks({.thread_number = thread_number, .log = [](std::string_view message, int task) {
                      debug_line(Subject::errors, message, task);
                    }});
  return true;
}();

}  // namespace

bool debugging(Subject subject) {
  return debug_log().wants(static_cast<int>(subject)) && !debug_log().silent();
}

void debug_line(Subject subject, std::string_view text, int task) {
  try {
    if (debugging(subject)) debug_log().write(printable(text), "", task);
  } catch (const std::exception&) {
  }
}

int thread_number() {
  int (*const source)() = thread_source.load(std::memory_order_acquire);
  return source ? source() : -1;
}

void use_thread_numbers(int (*get_thread_num)()) {
  int (*none)() = nullptr;
  thread_source.compare_exchange_strong(none, get_thread_num, std::memory_order_acq_rel);
}

}  // namespace sheaf::api

using sheaf::api::debug_log;

int sion_dprintf(int mask, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = sheaf::api::print(mask, nullptr, -1, format, arguments);
  va_end(arguments);
  return written;
}

int sion_dprintfp(int mask, const char* callfunction, int rank, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = sheaf::api::print(mask, callfunction, rank, format, arguments);
  va_end(arguments);
  return written;
}

int sion_isdebug(void) { return debug_log().wants(-1); }
void sion_debug_on(int mask, const char* filename) { debug_log().on(mask, filename); }
void sion_debug_off(void) { debug_log().on(0, nullptr); }
FILE* sion_get_dfile(void) { return sion_isdebug() ? debug_log().stream() : nullptr; }
void sion_dclose(void) { debug_log().close(); }
int _sion_debug_init(void) { return debug_log().read_environment() != 0; }

int _sion_debug_set_query_thread_num_function(int (*get_thread_num)(void)) {
  sheaf::api::thread_source.store(get_thread_num, std::memory_order_release);
  return SION_SUCCESS;
}

void _sion_debug_set_lock_cb(void (*set_lock)(void), void (*unset_lock)(void)) {
  debug_log().use_lock(set_lock, unset_lock);
}

int sion_print_time_stamp(int rank, char* desc) {
  if (!desc) return SION_NOT_SUCCESS;
  std::fprintf(stderr, "SION_TIME_STAMP on rank %d: %s %s\n", rank, sheaf::api::now().c_str(), desc);
  return SION_SUCCESS;
}
