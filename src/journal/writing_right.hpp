// journal/writing_right: what one task sees of the lease under which its multifile is written
// (docs/format.md, section 17). It keeps the lease open, so that a look costs one status.
//
// The process that made the lease has the Ownership (journal/ownership), which looks by way of this. The
// other tasks of an append look before each write, because an append that takes over writes to the same
// files. Local; any number of threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/export.hpp"
#include "base/non_copyable.hpp"
#include "storage/file.hpp"

namespace sheaf {

class SHEAF_EXPORT WritingRight : private NonCopyable {
 public:
  enum class Look : uint8_t {
    at_handle,     // no message to a server, unless the name was not looked at for two beats of the lease
    before_write,  // the same; where other hosts may take over, at most one look in a tenth of a second
    at_name,       // also sees what another host has done a moment ago
  };

  struct Lease {
    std::string path;  // of the multifile, for messages
    std::string name;  // of the lease
    uint64_t id = 0;
    bool is_local = false;  // on a file system of this host alone: no other one can take it over
  };

  // `file` is the lease, which stays the caller's to close. `store` outlives the object.
  WritingRight(Store& store, Lease lease, std::shared_ptr<File> file);
  // Of another task than the one that has made the lease `id` of the multifile `path`. Throws `foreign` if
  // the lease is not there any more, and what the store throws.
  static std::shared_ptr<WritingRight> open(Store& store, const std::string& path, uint64_t id,
                                            bool is_local);
  ~WritingRight() { end(); }

  // Whether the lease is there and has this id, as far as can be told.
  bool holds(Look look) noexcept;
  // Throws `foreign`, from then on always, if it does not hold.
  void require(Look look);
  // Nothing is to be written any more: closes the lease, if open() has opened it.
  void end() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  Error loss() const;

  Store& store_;
  const Lease lease_;
  const std::shared_ptr<File> file_;
  const std::chrono::milliseconds beat_;
  std::atomic<bool> closes_ = false;  // end() does
  // When it was last seen to hold, and by its name; not kept up if it is local.
  std::atomic<Clock::time_point> looked_ = Clock::now();
  std::atomic<Clock::time_point> looked_at_name_ = Clock::now();
  std::atomic<bool> is_lost_ = false;
  std::mutex mutex_;           // of the next
  std::optional<Error> lost_;  // what require() has thrown
};

}  // namespace sheaf
