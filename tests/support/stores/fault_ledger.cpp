// support/stores/fault_ledger: counts operations and selects those that fail.
#include "support/stores/fault_ledger.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace sheaf {

const char* name_of(StoreOperation kind) {
  switch (kind) {
    case StoreOperation::open:
      return "open";
    case StoreOperation::status:
      return "status";
    case StoreOperation::remove:
      return "remove";
    case StoreOperation::rename:
      return "rename";
    case StoreOperation::read:
      return "read";
    case StoreOperation::write:
      return "write";
    case StoreOperation::resize:
      return "resize";
    case StoreOperation::sync:
      return "sync";
    case StoreOperation::next:
      return "next";
    case StoreOperation::close:
      return "close";
  }
  return "unknown";
}

Error injected_error(StoreOperation kind, const std::string& path, int errno_value) {
  return os_error(std::string("injected failure of ") + name_of(kind), path, errno_value);
}

int FaultyStore::FaultLedger::enter(StoreOperation kind, const std::string& path, int64_t offset,
                                    int64_t length) {
  return enter({kind, path, offset, length},
               kind == StoreOperation::rename || kind == StoreOperation::remove);
}

int FaultyStore::FaultLedger::enter_open(const std::string& path, bool creates) {
  return enter({StoreOperation::open, path}, creates);
}

int FaultyStore::FaultLedger::enter(const OperationRecord& operation, bool changes_names) {
  std::function<void()> when_reached;
  int error = 0;
  {
    const std::lock_guard lock(mutex_);
    ++counts_[static_cast<size_t>(operation.kind)];
    if (keep_log_) log_.push_back(operation);
    if (!matches(operation.kind, operation.path, changes_names)) return 0;
    const int64_t number = matched_++;
    const bool chosen =
        number == plan_.fail_at || std::ranges::find(plan_.also_at, number) != plan_.also_at.end();
    const bool fails = plan_.fail_at >= 0 && (chosen || (plan_.from_then_on && number > plan_.fail_at));
    if (!fails) return 0;
    ++failed_;
    if (keep_log_) log_.back().failed = true;
    if (number == plan_.fail_at) when_reached = plan_.when_reached;
    error = plan_.errno_value;
  }
  if (when_reached) when_reached();
  return error;
}

void FaultyStore::FaultLedger::require(StoreOperation kind, const std::string& path, int64_t offset,
                                       int64_t length) {
  if (const int error = enter(kind, path, offset, length)) throw injected_error(kind, path, error);
}

bool FaultyStore::FaultLedger::matches(StoreOperation kind, const std::string& path,
                                       bool changes_names) const {
  if (plan_.changes_names && !changes_names) return false;
  if (plan_.kind && *plan_.kind != kind) return false;
  if (plan_.ends_early && kind != StoreOperation::read) return false;
  return path.find(plan_.path_contains) != std::string::npos;
}

void FaultyStore::FaultLedger::add_written(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_written_ += bytes;
}

void FaultyStore::FaultLedger::add_read(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_read_ += bytes;
}

bool FaultyStore::FaultLedger::half_first() const {
  const std::lock_guard lock(mutex_);
  return plan_.half_first && !(plan_.dies && matched_ > plan_.fail_at + 1);
}

bool FaultyStore::FaultLedger::ends_early() const {
  const std::lock_guard lock(mutex_);
  return plan_.ends_early;
}

void FaultyStore::set_plan(FaultPlan plan) {
  const std::lock_guard lock(ledger_->mutex_);
  ledger_->plan_ = std::move(plan);
  ledger_->matched_ = 0;
}

int64_t FaultyStore::operations() const {
  const std::lock_guard lock(ledger_->mutex_);
  int64_t sum = 0;
  for (const int64_t count : ledger_->counts_) sum += count;
  return sum;
}

int64_t FaultyStore::operations(StoreOperation kind) const {
  const std::lock_guard lock(ledger_->mutex_);
  return ledger_->counts_[static_cast<size_t>(kind)];
}

int64_t FaultyStore::matched() const {
  const std::lock_guard lock(ledger_->mutex_);
  return ledger_->matched_;
}

int64_t FaultyStore::failed() const {
  const std::lock_guard lock(ledger_->mutex_);
  return ledger_->failed_;
}

int64_t FaultyStore::bytes_written() const {
  const std::lock_guard lock(ledger_->mutex_);
  return ledger_->bytes_written_;
}

int64_t FaultyStore::bytes_read() const {
  const std::lock_guard lock(ledger_->mutex_);
  return ledger_->bytes_read_;
}

std::vector<OperationRecord> FaultyStore::log() const {
  const std::lock_guard lock(ledger_->mutex_);
  return ledger_->log_;
}

void FaultyStore::keep_log(bool keep) {
  const std::lock_guard lock(ledger_->mutex_);
  ledger_->keep_log_ = keep;
  if (!keep) ledger_->log_ = {};
}

void FaultyStore::clear_log() {
  const std::lock_guard lock(ledger_->mutex_);
  ledger_->log_.clear();
}

}  // namespace sheaf
