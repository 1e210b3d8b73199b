// sfio/service/service: handles the requests to an I/O listener. A Service keeps the listener's open
// subfiles, their identities and the error counts.
//
// A Service is independent of messages and MPI: requests and answers are bytes. Errors of the store become
// answers; only an invalid request throws. One thread at a time.
//
// A subfile P has its identity in P.sfio. The service marks the identity as "open" before the first write.
// The last close gives the subfile exactly the length that the logical file needs, and removes the mark. So a
// subfile without the mark that is too short has lost bytes.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/non_copyable.hpp"
#include "comm/messages.hpp"
#include "format/stripe_identity.hpp"
#include "layout/stripes.hpp"
#include "sfio/service/constants.hpp"
#include "sfio/service/protocol.hpp"
#include "storage/file.hpp"

namespace sheaf::sfio {

inline constexpr std::string_view identity_suffix = ".sfio";

// Counts of requests, for tests and for the counters of a session.
struct ServiceCounts {
  int64_t requests = 0;       // all kinds
  int64_t transfers = 0;      // writes and reads
  int64_t disk_requests = 0;  // reads and writes of subfiles
};

// State of a subfile on disk.
struct Looked {
  FileStatus data;
  bool has_identity_file = false;
  format::IdentityState state = format::IdentityState::foreign;  // state of the identity file
  std::optional<format::StripeIdentity> identity{};

  // Returns true for a subfile or its remains; false for a file that does not belong to a striped file.
  bool is_own() const {
    if (!has_identity_file) return !data.exists;
    if (state == format::IdentityState::begun) return data.size == 0 && !data.is_special;
    return state != format::IdentityState::foreign;
  }
};

class SHEAF_EXPORT Service : private NonCopyable {
 public:
  // Paths of requests count from the directory `root` and cannot leave it (storage/posix/beneath). If `root`
  // is "", any path is allowed. `largest` is the maximum bytes of one read. `store` must outlive the service.
  // Subfiles that clients have not closed stay on disk as written and marked as open.
  Service(Store& store, std::string root, int64_t largest);

  // Handles a request. Sets `answer` to the bytes to send back: an Answer and, after a read, the data. Reuses
  // the memory of `answer`. Returns the number of bytes to send. Throws damaged if `message` is no request.
  size_t handle(std::span<const std::byte> message, std::vector<std::byte>& answer, int32_t& answer_tag);

  // Handles a request without messages: `memory` holds the bytes of a write, or receives those of a read.
  Answer carry_out(const Request& request, std::span<const MemoryRun> memory);

  // Returns the file of a handle. Throws invalid_argument for an unknown handle.
  std::shared_ptr<File> file_of(int64_t handle) { return subfile_of(handle).file; }

  // Returns true after `bye` has arrived.
  bool ended() const { return ended_; }

  const ServiceCounts& counts() const { return counts_; }

 private:
  // A subfile in use, shared by all opens with the same path and kind of access.
  struct Subfile {
    std::string path;
    std::shared_ptr<File> file{};
    format::StripeIdentity identity{};
    bool writable = false;
    bool removed = false;
    int64_t size_at_close = 0;  // the largest logical size passed to a close
    bool size_unknown = false;  // a close did not know the logical size
    bool made_data = false;     // an open of this service has created the subfile
    bool made_identity = false;
    bool kept = false;  // closed at least once after a successful open of the striped file
  };
  // A range that a client has locked.
  struct ClientLock {
    int64_t handle = 0;
    int64_t offset = 0;
    int64_t length = 0;
    bool exclusive = false;
  };

  // Memory of a task, mapped in this process.
  struct Borrowed {
    LoanFacts facts;
    std::unique_ptr<BorrowedMemory> memory;
  };

  Answer dispatch(const Request& request, std::span<const MemoryRun> memory);
  Answer read_aside(const Request& request, const BorrowedMemory& memory);
  const BorrowedMemory* borrow(const LoanFacts& facts);
  std::vector<MemoryRun> runs_of(const Request& request, const BorrowedMemory& memory) const;
  int64_t bytes_asked(const Request& request) const;
  std::span<std::byte> aside(int64_t bytes);
  Looked look_at(const std::string& path);
  Answer look(const std::string& path);
  Answer open(const Request& request);
  int64_t share_found(const std::string& path, const Looked& found, const Request& request);
  int64_t make(const Request& request, const Looked& found, const format::StripeIdentity& identity);
  void discard(Subfile& subfile);
  int64_t share(const std::string& path, bool writable, const format::StripeIdentity& identity);
  void close(const Request& request);
  void finish(Subfile& subfile);
  Answer remove(const std::string& path);
  void rename(const std::string& from, const std::string& to);
  bool lock(const Request& request, bool exclusive);
  void unlock(const Request& request);
  void write(const Request& request, std::span<const MemoryRun> memory);
  int64_t read(const Request& request, std::span<const MemoryRun> memory);

  Subfile& subfile_of(int64_t handle);
  Subfile& writable(int64_t handle);
  // `opened` is set as soon as the file is open.
  void keep_identity(const std::string& path, const format::StripeIdentity& identity, Access access,
                     bool* opened = nullptr);
  // Writes the identity of a subfile in use and records it there.
  void keep_identity(Subfile& subfile, const format::StripeIdentity& identity);

  template <class Call>
  auto counted(Counted kind, Call call) {
    try {
      return call();
    } catch (...) {
      ++errors_[static_cast<size_t>(kind)];
      throw;
    }
  }

  std::shared_ptr<Store> confined_;  // null: no root
  Store& store_;
  int64_t largest_;
  std::map<int64_t, std::shared_ptr<Subfile>> handles_;  // one entry per user of a subfile
  std::map<std::pair<std::string, bool>, std::weak_ptr<Subfile>> in_use_;
  int64_t next_handle_ = 1;
  std::vector<ClientLock> held_;
  std::deque<Borrowed> borrowed_;
  LineBytes aside_;  // buffer for reads that go to lent memory or to several places
  ErrorCounts errors_{};
  bool left_ = false;  // the current request has created a file that it could not remove
  bool ended_ = false;
  ServiceCounts counts_;
};

}  // namespace sheaf::sfio
