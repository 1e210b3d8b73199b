// storage/background/write_batch: the writes that belong to one save of one task. They succeed or fail
// together.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/non_copyable.hpp"
#include "storage/background/capture_memory.hpp"
#include "storage/file.hpp"

namespace sheaf {

// Thread-safe. The first failure is final: later writes of the batch are dropped, and every call that writes
// throws it.
class WriteBatch : private NonCopyable {
 public:
  explicit WriteBatch(std::shared_ptr<CaptureBudget> budget) : budget_(std::move(budget)) {}

  const std::shared_ptr<CaptureBudget>& budget() const { return budget_; }

  // Never throws.
  void fail(const Error& why);
  // Fails the batch because its multifile is given up. Never throws.
  void give_up();
  std::optional<Error> failure() const;
  bool is_sound() const { return is_sound_.load(std::memory_order_acquire); }
  void require_sound() const {
    if (!is_sound()) throw failure().value();
  }
  // Drops the bytes of streams that are written from now on (File::begin_sums).
  void discard() { discards_ = true; }
  bool discards() const { return discards_; }

  // Lets later writes pass to the files at once. Called when all writes are carried out, in the background.
  // These writes are not counted.
  void write_through() { writes_through_ = true; }
  bool writes_through() const { return writes_through_; }

  // Count bytes that their user keeps in captured memory until it writes them, in another form.
  void count_captured(int64_t bytes) { captured_ += bytes; }
  void count_written(int64_t bytes) { written_ += bytes; }
  int64_t captured() const { return captured_; }  // bytes
  int64_t written() const { return written_; }    // bytes

  // Leaves a file that its user has closed to sync_files().
  void close_later(std::shared_ptr<File> file);
  // Closes the files of close_later() after it has made their bytes durable. Called when all writes are
  // carried out. Fails the batch if that fails.
  void sync_files();

 private:
  friend class BackgroundWriter;

  const std::shared_ptr<CaptureBudget> budget_;
  std::atomic<bool> is_sound_ = true;
  std::atomic<bool> discards_ = false;
  std::atomic<bool> writes_through_ = false;
  std::atomic<int64_t> captured_ = 0, written_ = 0;
  int64_t pending_ = 0;  // requests not carried out; guarded by the mutex of the BackgroundWriter

  mutable std::mutex mutex_;  // guards the following members
  std::optional<Error> failure_;
  std::vector<std::shared_ptr<File>> closed_;
};

}  // namespace sheaf
