#include "base/report/trace.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/forks.hpp"
#include "base/os/host_name.hpp"
#include "base/os/process_identity.hpp"
#include "base/report/report.hpp"
#include "base/setting.hpp"
#include "base/warnings.hpp"

namespace sheaf {

constinit std::atomic<bool> trace_enabled = false;

namespace {

constexpr size_t buffered_bytes = 256 << 10;  // several thousand events per write
constexpr int max_names = 100;                // files of processes with equal host names and numbers

int64_t nanoseconds(auto since_epoch) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count();
}

// Returns the time since the start of the process's trace, in nanoseconds of CLOCK_MONOTONIC.
int64_t steady_ns() { return nanoseconds(std::chrono::steady_clock::now().time_since_epoch()); }

int number_of_thread() {
  static std::atomic<int> threads{0};
  thread_local const int number = ++threads;
  return number;
}

// Returns a name that is valid in file names and in JSON strings: replaces all characters except letters,
// digits, '-' and '.' by '_'.
std::string plain_name(std::string name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  std::ranges::replace_if(name, std::not_fn(is_plain), '_');
  return name;
}

// The file of this process, created with its first event.
class TraceFile {
 public:
  explicit TraceFile(std::string name) : name_(std::move(name)) {}

  void name_task(int64_t rank) {
    if (is_child()) return;
    const std::scoped_lock lock(mutex_);
    if (task_ >= 0) return;
    task_ = static_cast<int>(rank);
    name_lane("task " + std::to_string(rank));
    describe("process_sort_index", "\"sort_index\":" + std::to_string(rank));
  }

  void add(const char* name, int64_t began, int64_t ended, int64_t offset, int64_t bytes) {
    if (is_child()) return;
    const std::scoped_lock lock(mutex_);
    if (!opens()) return;
    std::array<char, 256> line{};
    std::array<char, 80> request{};
    if (bytes >= 0)
      std::snprintf(request.data(), request.size(), ",\"args\":{\"offset\":%lld,\"bytes\":%lld}",
                    static_cast<long long>(offset), static_cast<long long>(bytes));
    const int64_t at = began + to_realtime_, length = ended - began;
    std::snprintf(line.data(), line.size(),
                  "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%lld.%03d,\"dur\":%lld.%03d%s}",
                  name, lane_, number_of_thread(), static_cast<long long>(at / 1000),
                  static_cast<int>(at % 1000), static_cast<long long>(length / 1000),
                  static_cast<int>(length % 1000), request.data());
    append(line.data());
  }

  // Writes the remaining events and closes the file. Later events are dropped. Prints a warning if it fails,
  // because no call of the program follows that could.
  void finish() {
    if (is_child()) return;
    const std::scoped_lock lock(mutex_);
    if (!file_) return;
    const bool is_complete = write(text_) && write("\n]\n");
    const int write_error = errno;
    const bool is_closed = std::fclose(file_.release()) == 0;  // tried_ remains true
    if (!is_complete || !is_closed) warn("SHEAF_TRACE", failure(is_complete ? errno : write_error), task_);
  }

 private:
  bool is_child() const { return forks() != forks_; }

  void open() {
    const std::string process = std::to_string(process_number());
    const std::string stem = name_ + "." + host_ + "." + process;
    for (int i = 0; i < max_names && !file_; ++i) {
      path_ = stem + (i > 0 ? "-" + std::to_string(i) : "") + ".json";
      file_.reset(std::fopen(path_.c_str(), "wxe"));
      lane_ = static_cast<int>(std::hash<std::string>()(path_) & INT_MAX);
    }
    if (!file_) {
      trace_enabled = false;
      return add_warning("SHEAF_TRACE=" + name_ +
                         " is ignored, because no file with this name can be created");
    }
    std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // a forked child must not write buffered bytes again
    if (task_ < 0) name_lane("process " + process);
  }
  void name_lane(const std::string& name) {
    describe("process_name", "\"name\":\"" + name + " on " + host_ + "\"");
  }
  void describe(const char* what, const std::string& arguments) {
    if (opens())
      append("{\"ph\":\"M\",\"name\":\"" + std::string(what) + "\",\"pid\":" + std::to_string(lane_) +
             ",\"args\":{" + arguments + "}}");
  }
  // Returns true if the file is open. The first call opens it.
  bool opens() {
    if (!std::exchange(tried_, true)) open();
    return file_ != nullptr;
  }
  void append(const std::string& event) {
    text_ += (begun_ ? ",\n" : "[\n") + event;
    begun_ = true;
    if (text_.size() >= buffered_bytes) flush();
  }
  // Writes the gathered events. If that fails, adds a warning and ends the time line.
  void flush() {
    if (!write(text_)) {
      const int write_error = errno;
      trace_enabled = false;
      file_.reset();
      add_warning(failure(write_error));
    }
    text_.clear();
  }
  bool write(std::string_view text) {
    return std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size();
  }
  std::string failure(int errno_value) const {
    return os_error("the time line is incomplete: cannot write", path_, errno_value).what();
  }

  const std::string name_;  // value of SHEAF_TRACE
  const std::string host_ = plain_name(host_name());
  const int64_t forks_ = forks();
  // Time of CLOCK_REALTIME minus that of CLOCK_MONOTONIC, in nanoseconds.
  const int64_t to_realtime_ = nanoseconds(std::chrono::system_clock::now().time_since_epoch()) - steady_ns();
  std::unique_ptr<FILE, int (*)(FILE*)> file_{nullptr, std::fclose};
  std::mutex mutex_;
  std::string path_;    // of the file
  std::string text_;    // events that are not written
  int lane_ = 0;        // number of the process, unlike those of other hosts
  int task_ = -1;       // rank in the name of the lane; -1: unknown
  bool tried_ = false;  // to open the file
  bool begun_ = false;
};

// Not destroyed, because threads may end their events after the static objects are destroyed.
TraceFile* requested_trace() {
  const char* const name = setting("SHEAF_TRACE");
  if (name == nullptr) return nullptr;
  auto* const file = new TraceFile(name);
  trace_enabled = true;
  return file;
}

TraceFile* const trace_file = requested_trace();

const struct TraceEnd {
  ~TraceEnd() {
    trace_enabled = false;
    if (trace_file != nullptr) attempt([] { trace_file->finish(); });
  }
} trace_end;

}  // namespace

void TraceEvent::begin(int64_t offset, int64_t bytes) {
  offset_ = offset;
  bytes_ = bytes;
  began_ = steady_ns();
}

void TraceEvent::end() noexcept {
  attempt([&] { trace_file->add(name_, began_, steady_ns(), offset_, bytes_); });
}

void trace_task(int64_t rank) noexcept {
  if (trace_enabled) attempt([&] { trace_file->name_task(rank); });
}

}  // namespace sheaf
