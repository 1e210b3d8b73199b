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
  // Records a failed write. The file offsets of `access` must increase. If there is no memory for the record,
  // does add_unknown().
  void add(int64_t offset, int64_t length, const Error& why) noexcept;
  void add(const FileAccess& access, const Error& why) noexcept;
  // Records a write that ran out of memory before its offsets were known. The file is incomplete from then
  // on, unless it is truncated to 0 bytes.
  void add_unknown() noexcept;

  // Records a successful write. If there is no memory for the record, some of the bytes remain missing.
  void remove(int64_t offset, int64_t length) noexcept;
  void remove(const FileAccess& access) noexcept;
  // Records that the file was truncated to `offset` bytes: bytes beyond are no longer missing.
  void cut(int64_t offset) noexcept;

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
  bool unknown_ = false;  // further bytes are missing, and nothing tells which
  int64_t failures_ = 0;
};

}  // namespace sheaf::exchange
