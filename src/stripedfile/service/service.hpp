// stripedfile/service/service: what an I/O listener does with a request: its subfiles, their identities, its
// error counts.
//
// Knows neither messages nor MPI: a request comes as bytes, the answer goes back as bytes. Errors of the
// store become answers; only a request that is none throws. One thread at a time.
//
// A subfile P has its identity in P.sfio. The identity says "open" from before the first write until the
// close that makes the subfile exactly as long as the logical file needs; so a closed subfile that is too
// short has lost bytes.
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
#include "storage/file.hpp"
#include "stripedfile/service/constants.hpp"
#include "stripedfile/service/protocol.hpp"

namespace sheaf::sfio {

inline constexpr std::string_view identity_suffix = ".sfio";

// What was asked of a service, for tests and for the counts of a session.
struct ServiceCounts {
  int64_t requests = 0;       // all kinds
  int64_t transfers = 0;      // writes and reads
  int64_t disk_requests = 0;  // reads and writes of subfiles
};

// What there is of a subfile.
struct Looked {
  FileStatus data;
  bool has_identity_file = false;
  format::IdentityState state = format::IdentityState::foreign;  // of that
  std::optional<format::StripeIdentity> identity{};

  // A subfile, or what is left of one: not a file of somebody else.
  bool is_own() const {
    if (!has_identity_file) return !data.exists;
    if (state == format::IdentityState::begun) return data.size == 0 && !data.is_special;
    return state != format::IdentityState::foreign;
  }
};

class SHEAF_EXPORT Service : private NonCopyable {
 public:
  // Paths of requests are those beneath the directory `root`, which none can leave (storage/posix/beneath);
  // "": any. largest: bytes that one read may ask for. `store` must outlive the service. What clients have
  // not closed stays as it is on disk when the service goes: written, and marked as open.
  Service(Store& store, std::string root, int64_t largest);

  // Carries out a request. `answer` gets the bytes to send back: an Answer and, after a read, the data;
  // memory that is there is used again. Returns how many bytes of it are to be sent. Throws damaged if
  // `message` is none.
  size_t handle(std::span<const std::byte> message, std::vector<std::byte>& answer, int32_t& answer_tag);

  // The same without messages: `memory` has the bytes of a write, or gets those of a read.
  Answer carry_out(const Request& request, std::span<const MemoryRun> memory);

  // The file behind a handle. Throws invalid_argument if there is none.
  std::shared_ptr<File> file_of(int64_t handle) { return subfile_of(handle).file; }

  // Whether `bye` has come.
  bool ended() const { return ended_; }

  const ServiceCounts& counts() const { return counts_; }

 private:
  // A subfile in use; all opens of one path and kind of access share it.
  struct Subfile {
    std::string path;
    std::shared_ptr<File> file{};
    format::StripeIdentity identity{};
    bool writable = false;
    bool removed = false;
    int64_t size_at_close = 0;  // the largest logical size that a user has closed with
    bool size_unknown = false;  // a user could not find out at its close
    bool made_data = false;     // by an open here
    bool made_identity = false;
    bool kept = false;  // a user has closed it, and not because its open had failed
  };
  // A range that a client holds.
  struct Held {
    int64_t handle = 0;
    int64_t offset = 0;
    int64_t length = 0;
    bool exclusive = false;
  };

  // Memory of a task, mapped here.
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
  // opened: set as soon as the file is there.
  void keep_identity(const std::string& path, const format::StripeIdentity& identity, Access access,
                     bool* opened = nullptr);
  // Of a subfile in use, which has it from then on.
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
  std::map<int64_t, std::shared_ptr<Subfile>> handles_;  // as many as a subfile has users
  std::map<std::pair<std::string, bool>, std::weak_ptr<Subfile>> in_use_;
  int64_t next_handle_ = 1;
  std::vector<Held> held_;
  std::deque<Borrowed> borrowed_;
  LineBytes aside_;  // what is read before it goes to lent memory or to many places
  ErrorCounts errors_{};
  bool left_ = false;  // by the request in hand: something that it should have removed
  bool ended_ = false;
  ServiceCounts counts_;
};

}  // namespace sheaf::sfio
