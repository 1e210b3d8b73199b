// sfio/service/service: handles the requests to an I/O listener: transfers and locks itself, the others by
// Subfiles.
//
// A Service is independent of messages and MPI: requests and answers are bytes. Errors of the store become
// answers; only an invalid request throws. One thread at a time.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/non_copyable.hpp"
#include "comm/messages.hpp"
#include "sfio/service/constants.hpp"
#include "sfio/service/protocol.hpp"
#include "sfio/service/subfiles.hpp"
#include "storage/file.hpp"

namespace sheaf::sfio {

// Counts of requests, for tests and for the counters of a session.
struct ServiceCounts {
  int64_t requests = 0;       // all kinds
  int64_t transfers = 0;      // writes and reads
  int64_t disk_requests = 0;  // reads and writes of subfiles
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
  std::shared_ptr<File> file_of(int64_t handle) { return files_.at(handle).file; }

  // Returns true after a `disconnect` request has arrived.
  bool ended() const { return ended_; }

  const ServiceCounts& counts() const { return counts_; }

 private:
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
  bool lock(const Request& request, bool exclusive);
  void unlock(const Request& request);
  void write(const Request& request, std::span<const MemoryRun> memory);
  int64_t read(const Request& request, std::span<const MemoryRun> memory);

  std::shared_ptr<Store> confined_;  // null: no root
  Subfiles files_;
  int64_t largest_;
  std::vector<ClientLock> held_;
  std::deque<Borrowed> borrowed_;
  LineBytes aside_;  // buffer for reads that go to lent memory or to several places
  bool ended_ = false;
  ServiceCounts counts_;
};

}  // namespace sheaf::sfio
