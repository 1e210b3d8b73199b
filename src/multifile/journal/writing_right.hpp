// multifile/journal/writing_right: one task's view of the lease under which its multifile is written
// (docs/format.md, section 17). Keeps the lease open, so that a check costs one status call.
//
// The process that made the lease has an Ownership (multifile/journal/ownership), which uses this class for
// its checks. During an append, the other tasks check before each write, because a program that takes over
// appends to the same files. Local and thread-safe.
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

namespace sheaf::multifile {

class SHEAF_EXPORT WritingRight : private NonCopyable {
 public:
  // How to check the lease. The status of the open file usually takes no message to a server. If other hosts
  // can take the lease over, the lease is also read by its name, because this detects even their recent
  // changes. A beat is the interval of the owner's heartbeat.
  enum class LeaseCheck : uint8_t {
    handle,     // status; also by name if the last check by name is older than two beats
    pre_write,  // as handle; at most ten checks per second if other hosts can take over
    name,       // status and name
  };

  struct LeaseReference {
    std::string path;  // path of the multifile, for messages
    std::string name;  // name of the lease file
    uint64_t id = 0;
    bool is_local = false;  // on a file system of this host; other hosts cannot take the lease over
  };

  // `file` is the open lease; the caller closes it. `store` must outlive the object.
  WritingRight(Store& store, LeaseReference lease, std::shared_ptr<File> file);
  // Opens the lease `id` of the multifile `path` on a task other than the one that made it. Throws `foreign`
  // if the lease no longer exists or has a different id, and what the store throws.
  static std::shared_ptr<WritingRight> open(Store& store, const std::string& path, uint64_t id,
                                            bool is_local);
  ~WritingRight() { end(); }

  // Returns true unless the lease is known to be missing or to have a different id.
  bool holds(LeaseCheck look) noexcept;
  // Throws `foreign` if holds() returns false. Every later call then throws the same error.
  void require(LeaseCheck look);
  // Ends writing: closes the lease if open() has opened it.
  void end() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  Error loss() const;

  Store& store_;
  const LeaseReference lease_;
  const std::shared_ptr<File> file_;
  const std::chrono::milliseconds beat_;
  std::atomic<bool> closes_ = false;  // end() closes the file
  // Times of the last successful check, and of the last one by name; not updated if the lease is local.
  std::atomic<Clock::time_point> looked_ = Clock::now();
  std::atomic<Clock::time_point> looked_at_name_ = Clock::now();
  std::atomic<bool> is_lost_ = false;
  std::mutex mutex_;           // guards `lost_`
  std::optional<Error> lost_;  // error that require() has thrown
};

}  // namespace sheaf::multifile
