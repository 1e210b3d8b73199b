// support/stores/fault_ledger: the counters, the log and the plan of a FaultyStore, shared with its open
// files.
#pragma once

#include <array>
#include <mutex>

#include "base/error.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf {

// Thread-safe.
class FaultyStore::FaultLedger {
 public:
  // Counts an operation. Returns the errno with which the operation must fail, or 0.
  int enter(StoreOperation kind, const std::string& path, int64_t offset = 0, int64_t length = 0);
  // Like enter(), for an open that may create the file.
  int enter_open(const std::string& path, bool creates);

  // Like enter(), but throws the failure.
  void require(StoreOperation kind, const std::string& path, int64_t offset = 0, int64_t length = 0);

  void add_written(int64_t bytes);
  void add_read(int64_t bytes);
  bool half_first() const;
  bool ends_early() const;

  static constexpr size_t kinds = static_cast<size_t>(StoreOperation::close) + 1;

 private:
  int enter(const OperationRecord& operation, bool changes_names);
  bool matches(StoreOperation kind, const std::string& path, bool changes_names) const;

  friend class FaultyStore;
  mutable std::mutex mutex_;
  FaultPlan plan_;
  std::array<int64_t, kinds> counts_{};
  int64_t matched_ = 0;
  int64_t failed_ = 0;
  int64_t bytes_written_ = 0;
  int64_t bytes_read_ = 0;
  bool keep_log_ = true;
  std::vector<OperationRecord> log_;
};

// Returns the error of an operation that was made to fail.
Error injected_error(StoreOperation kind, const std::string& path, int errno_value);

}  // namespace sheaf
