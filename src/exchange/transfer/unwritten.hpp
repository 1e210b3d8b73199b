// exchange/transfer/unwritten: records the bytes of a file that a task could not write.
//
// Programs need not check every result, since MPI-IO returns errors by default. So a file records its missing
// bytes, and sync and close fail until the program has written them. Each task has its own record. Any thread
// may call the functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/export.hpp"
#include "exchange/pieces/access.hpp"

namespace sheaf::exchange {

class SHEAF_EXPORT UnwrittenBytes {
 public:
  // Records a failed write. The file offsets of `access` must increase.
  void add(int64_t offset, int64_t length, const Error& why);
  void add(const FileAccess& access, const Error& why);

  // Records a successful write.
  void remove(int64_t offset, int64_t length);
  void remove(const FileAccess& access);
  // Records that the file was truncated to `offset` bytes: bytes beyond are no longer missing.
  void cut(int64_t offset);

  // Returns the first failure with bytes that are still missing, as an Error with the code and errno of the
  // failure and with `task` as the writer. Returns nothing if no byte is missing.
  std::optional<Error> problem(const std::string& path, int task) const;

 private:
  struct WriteFailure {
    int64_t number;  // in the order of failures
    Error why;
  };
  struct Missing {
    int64_t end;
    std::shared_ptr<const WriteFailure> failure;
  };
  using Extents = std::map<int64_t, Missing>;  // by begin; extents do not overlap

  void insert(int64_t begin, int64_t end, const std::shared_ptr<const WriteFailure>& failure);
  void erase(int64_t begin, int64_t end);
  std::shared_ptr<const WriteFailure> failure_of(const Error& why);
  bool is_empty() const;

  mutable std::mutex mutex_;
  Extents missing_;
  int64_t failures_ = 0;
};

}  // namespace sheaf::exchange
