// support/stores/faulty_store: counts the operations on a store and makes selected ones fail, as an operating
// system would. Used by tests and to measure how many operations a protocol takes.
#pragma once

#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/decorators/forwarding_store.hpp"

namespace sheaf {

enum class StoreOperation : uint8_t { open, status, remove, rename, read, write, resize, sync, next, close };

// Returns the name of an operation, for messages. Static storage.
const char* name_of(StoreOperation kind);

// One call to the store. A write of adjacent pieces is one `write`. `status` is a query of a name or of a
// File.
struct OperationRecord {
  StoreOperation kind;
  std::string path;     // as passed to the open; the old name for a rename
  int64_t offset = 0;   // bytes; the new size for a resize
  int64_t length = 0;   // requested bytes
  bool failed = false;  // by the plan
};

// Selects the operations that fail and the kind of failure. By default all succeed.
struct FaultPlan {
  int64_t fail_at = -1;  // number of the operation among those that match, counted from 0; -1: none
  std::vector<int64_t> also_at = {};  // numbers of further operations that fail
  bool from_then_on = false;          // every later matching operation fails too
  int errno_value = EIO;              // errno that the failing operation reports
  bool half_first = false;            // a failing read or write moves the first half of its bytes
  // Only reads match; a failing read returns the first half, as at the end of a file
  bool ends_early = false;
  std::optional<StoreOperation> kind = {};  // operations of other kinds do not match
  std::string path_contains = {};           // operations on other paths do not match
  // Only operations that change names in a directory match: creating, renaming and removing files
  bool changes_names = false;
  bool dies = false;  // with from_then_on: as in a killed program, only operation `fail_at` moves bytes
  std::function<void()> when_reached = {};  // called once, before operation `fail_at` fails
};

// Decorator of a Store. A failing operation throws os_error(plan.errno_value) and transfers nothing, or the
// first half of its bytes. A read that ends early does not throw. A failing close releases the file
// nevertheless. Files have no descriptor, so no access bypasses the counting. A copy counts as the reads and
// writes that implement it.
//
// Safe for use from several threads. `inner` must outlive this object and its files; files may outlive this
// object.
class FaultyStore final : public ForwardingStore {
 public:
  explicit FaultyStore(Store& inner, FaultPlan plan = {});
  // Creates a store of another host of the same program: it shares plan and counters with `other`.
  FaultyStore(Store& inner, const FaultyStore& other) : ForwardingStore(inner), ledger_(other.ledger_) {}
  ~FaultyStore() override;

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  FileStatus status(const std::string& path) override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  std::vector<std::string> names_in(const std::string& directory) override;     // is an open
  void sync_name(const std::string& path) override { Store::sync_name(path); }  // open, sync and close

  // Replaces the plan. Counts the operations that match it from 0. The other counters keep their values.
  void set_plan(FaultPlan plan);

  int64_t operations() const;                     // operations of all kinds
  int64_t operations(StoreOperation kind) const;  // failed ones included
  int64_t matched() const;        // operations that matched the current plan: the k of a fault sweep
  int64_t failed() const;         // operations that the plans made fail
  int64_t bytes_written() const;  // by writes and copies that succeeded
  int64_t bytes_read() const;     // by reads that succeeded

  // Returns all operations in order since the last clear_log(). keep_log(false) disables the log to save
  // memory.
  std::vector<OperationRecord> log() const;
  void keep_log(bool keep);
  void clear_log();

  class FaultLedger;  // private to the implementation

 private:
  const std::shared_ptr<FaultLedger> ledger_;
};

}  // namespace sheaf
