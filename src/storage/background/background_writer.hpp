// storage/background/background_writer: carries out writes after the call that made them.
//
// A write copies its bytes into captured memory and returns; a thread of the process performs the requests in
// their order. One object serves all files of a process.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/export.hpp"
#include "base/forks.hpp"
#include "base/non_copyable.hpp"
#include "storage/background/capture_memory.hpp"
#include "storage/background/captured_sums.hpp"
#include "storage/background/write_batch.hpp"

namespace sheaf {

// Thread-safe. In a forked child, the thread of the parent does not exist: writes are then carried out at
// once, and nothing that the parent has captured is written.
class SHEAF_EXPORT BackgroundWriter : private NonCopyable {
 public:
  enum class ServedBy : uint8_t {
    thread,   // a thread, which the first request starts
    callers,  // callers of run_one(), and callers that wait
  };
  // Work that follows the writes of a batch. Returns the time after which it must run again; nullopt: it is
  // finished. Must not throw. It may call write() and drain() only for a batch that writes through.
  using Step = std::function<std::optional<std::chrono::milliseconds>()>;

  explicit BackgroundWriter(ServedBy served_by) : served_by_(served_by) {}
  // Carries out all requests, and abandons steps that want to run again.
  ~BackgroundWriter();

  // Captures a write of `data` to `to.file`. Waits while the budget of the batch is exhausted. If there is no
  // memory, writes at once. Throws the failure of the batch.
  struct CaptureTarget {
    std::shared_ptr<WriteBatch> batch;
    std::shared_ptr<File> file;
    CapturedSums* sums = nullptr;  // get the bytes if these continue theirs; null: none
  };
  void write(const CaptureTarget& to, std::span<const std::byte> data, int64_t offset);
  // Waits until all writes of the batch are carried out. Throws the failure of the batch.
  void drain(WriteBatch& batch);
  // Waits until the writes to `bytes` bytes of the file `path` at `offset` are carried out. Throws the
  // failure of the batch.
  void await_range(const WriteBatch& batch, const std::string& path, int64_t offset, int64_t bytes);
  // Runs `step` after all requests made before, in the order of the calls.
  void then(const std::shared_ptr<WriteBatch>& batch, Step step);

  // Carries out one request, or the steps that wait for their time, now. Returns false if there is none.
  // Only with ServedBy::callers.
  bool run_one();
  // For callers that wait for a step: carries out one request, or waits for at most `pause`.
  void help(std::chrono::nanoseconds pause);
  // Returns true if requests are carried out by their callers, because there is no thread.
  bool is_synchronous();
  // While it exists, the thread begins no request unless a caller waits for one. So the requests that the
  // program itself makes do not queue after those of the thread, on the disk or on a link.
  class Hold : private NonCopyable {
   public:
    explicit Hold(BackgroundWriter& writer) : writer_(writer) { writer_.change_holds(1); }
    ~Hold() { writer_.change_holds(-1); }

   private:
    BackgroundWriter& writer_;
  };

  CaptureMemory& memory() { return memory_; }
  // Memory of users that keep bytes before they write them. It is apart, so that a write always gets memory,
  // whatever such users hold.
  CaptureMemory& kept_memory() { return kept_memory_; }

 private:
  struct CapturedWrite {
    std::shared_ptr<WriteBatch> batch;
    std::shared_ptr<File> file = {};
    std::shared_ptr<CapturePiece> piece = {};  // null: a step
    std::span<std::byte> bytes = {};
    int64_t offset = 0;
    bool is_ready = false;  // the bytes are copied
    Step step = {};
  };
  struct TimedStep {
    std::chrono::steady_clock::time_point due;
    CapturedWrite request;
  };
  struct RequestQueue {
    std::deque<CapturedWrite> requests;
    std::span<const CapturedWrite> running;  // writes that are being carried out
    std::vector<TimedStep> timed;
    int holds = 0;    // see Hold
    int waiting = 0;  // callers that wait for requests
  };
  using Lock = std::unique_lock<std::mutex>;

  bool is_here() const { return process_ == forks(); }
  std::span<std::byte> reserve(Lock& lock, const std::shared_ptr<WriteBatch>& batch, size_t wanted);
  void capture(const CaptureTarget& to, std::span<const std::byte> data, int64_t offset);
  bool has_ready() const { return !queue_.requests.empty() && queue_.requests.front().is_ready; }
  bool may_begin() const { return has_ready() && (queue_.holds == 0 || queue_.waiting > 0); }
  void change_holds(int by);
  bool is_pending(const std::string& path, int64_t offset, int64_t bytes) const;
  template <class Wait>
  void await_thread(Wait&& wait);
  void wait_for_change(Lock& lock);
  void wait_for_memory(Lock& lock, std::chrono::nanoseconds pause);
  void begin_thread();
  void serve();
  bool carry_out(Lock& lock);
  std::vector<CapturedWrite> take_run();
  static void write_run(std::vector<CapturedWrite>& run);
  void run_step(Lock& lock, CapturedWrite request);
  bool run_due(Lock& lock, std::chrono::steady_clock::time_point now);

  const ServedBy served_by_;
  const int64_t process_ = forks();
  CaptureMemory memory_, kept_memory_;
  std::mutex mutex_;  // guards the following members
  std::condition_variable requested_, changed_;
  RequestQueue queue_;
  std::shared_ptr<CapturePiece> current_;  // the piece that the next request uses
  std::thread thread_;
  bool has_no_thread_ = false;  // it could not be created
  bool ends_ = false;
};

}  // namespace sheaf
