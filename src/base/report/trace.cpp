#include "base/report/trace.hpp"

#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/forks.hpp"
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

// The file of this process, created with its first event.
class TraceFile {
 public:
  explicit TraceFile(std::string name) : name_(std::move(name)) {
    std::array<char, HOST_NAME_MAX + 1> host{};
    if (::gethostname(host.data(), host.size() - 1) == 0) host_ = host.data();
  }

  void name_task(int64_t rank) {
    if (is_child()) return;
    const std::scoped_lock lock(mutex_);
    if (std::exchange(named_, true)) return;
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

  // Writes the remaining events and closes the file. Later events are dropped.
  void finish() {
    if (is_child()) return;
    const std::scoped_lock lock(mutex_);
    if (!file_) return;
    text_ += "\n]\n";
    flush();
    file_.reset();  // tried_ remains true
  }

 private:
  bool is_child() const { return forks() != forks_; }

  void open() {
    const std::string process = std::to_string(::getpid());
    const std::string stem = name_ + "." + host_ + "." + process;
    for (int i = 0; i < max_names && !file_; ++i) {
      const std::string path = stem + (i > 0 ? "-" + std::to_string(i) : "") + ".json";
      file_.reset(std::fopen(path.c_str(), "wxe"));
      lane_ = static_cast<int>(std::hash<std::string>()(path) & INT_MAX);
    }
    if (!file_) {
      trace_enabled = false;
      return add_warning("SHEAF_TRACE=" + name_ +
                         " is ignored, because no file with this name can be created");
    }
    std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // a forked child must not write buffered bytes again
    if (!named_) name_lane("process " + process);
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
  void flush() {
    std::fwrite(text_.data(), 1, text_.size(), file_.get());
    text_.clear();
  }

  const std::string name_;  // value of SHEAF_TRACE
  std::string host_ = "localhost";
  const int64_t forks_ = forks();
  // Time of CLOCK_REALTIME minus that of CLOCK_MONOTONIC, in nanoseconds.
  const int64_t to_realtime_ = nanoseconds(std::chrono::system_clock::now().time_since_epoch()) - steady_ns();
  std::unique_ptr<FILE, int (*)(FILE*)> file_{nullptr, std::fclose};
  std::mutex mutex_;
  std::string text_;    // events that are not written
  int lane_ = 0;        // number of the process, unlike those of other hosts
  bool tried_ = false;  // to open the file
  bool begun_ = false, named_ = false;
};

// Not destroyed, because threads may end their events after the static objects are destroyed.
TraceFile* requested_trace() {
  const char* const name = setting("SHEAF_TRACE");
  if (name == nullptr) return nullptr;
  pthread_atfork(nullptr, nullptr, [] { trace_enabled = false; });
  auto* const file = new TraceFile(name);
  trace_enabled = true;
  return file;
}

TraceFile* const trace_file = requested_trace();

const struct TraceEnd {
  ~TraceEnd() {
    trace_enabled = false;
    if (trace_file != nullptr) trace_file->finish();
  }
} trace_end;

}  // namespace

void TraceEvent::begin(int64_t offset, int64_t bytes) {
  offset_ = offset;
  bytes_ = bytes;
  began_ = steady_ns();
}

void TraceEvent::end() { trace_file->add(name_, began_, steady_ns(), offset_, bytes_); }

void trace_task(int64_t rank) {
  if (trace_enabled) trace_file->name_task(rank);
}

}  // namespace sheaf
