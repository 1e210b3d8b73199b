// sfio/service/subfiles: the subfiles that an I/O listener has open, and the identities of all its subfiles.
//
// A subfile P has its identity in P.sfio. The identity is marked as "open" before the first write. The last
// close gives the subfile exactly the length that the logical file needs, and removes the mark. So a subfile
// without the mark that is too short has lost bytes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/non_copyable.hpp"
#include "format/stripe_identity.hpp"
#include "layout/stripes.hpp"
#include "sfio/service/protocol.hpp"
#include "storage/file.hpp"
#include "storage/store.hpp"

namespace sheaf::sfio {

inline constexpr std::string_view identity_suffix = ".sfio";

// Returns the minimum number of bytes of a subfile with this identity; 0 if the identity does not record the
// size or the unit.
inline int64_t required_size(const format::StripeIdentity& is) {
  if (is.size < 0 || is.unit <= 0) return 0;
  return layout::Stripes{is.unit, is.count}.subfile_size(is.index, is.size);
}

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
  // Returns true if an open may begin a new subfile: no file exists, or only an incomplete identity, or an
  // empty file of another origin.
  bool can_begin() const {
    if (identity || data.is_directory) return false;
    return has_identity_file ? state == format::IdentityState::begun && !data.exists : data.size == 0;
  }
  // Returns true if an open may complete the interrupted creation of the subfile.
  bool can_resume() const { return !data.exists && identity && !identity->complete; }
};

// A subfile in use, shared by all opens with the same path and kind of access.
struct Subfile {
  std::string path;
  std::shared_ptr<File> file{};
  format::StripeIdentity identity{};
  bool writable = false;
  bool removed = false;
  int64_t size_at_close = 0;  // the largest logical size passed to a close
  bool size_unknown = false;  // a close did not know the logical size
  bool made_data = false;     // an open of this listener has created the subfile
  bool made_identity = false;
  bool kept = false;  // closed at least once after a successful open of the striped file
};

class Subfiles : private NonCopyable {
 public:
  // `store` must outlive the object. Subfiles that clients have not closed stay on disk as written and marked
  // as open.
  explicit Subfiles(Store& store) : store_(store) {}

  // Return the subfile of a handle. Throw invalid_argument for an unknown handle. writable() is for a change:
  // marks the identity as open until the next close, and throws wrong_mode if the open was for reading.
  Subfile& at(int64_t handle);
  Subfile& writable(int64_t handle);
  bool empty() const { return handles_.empty(); }  // no handle is in use

  // Carries out the requests from `status` to `sync`, `remove` and `rename` (RequestKind).
  Answer dispatch(const Request& request);

  // Removes a handle and returns its subfile for close().
  std::shared_ptr<Subfile> release(int64_t handle);
  // Carries out a `close`. The last user of the subfile closes its file. `size`: logical size, negative if
  // unknown. `was_opened`: false if the open of the striped file has failed.
  void close(const std::shared_ptr<Subfile>& subfile, int64_t size, bool was_opened);

  // Runs a call of the system and returns its result. Counts its error under `kind`.
  template <class Call>
  auto counted(Counted kind, Call call) {
    try {
      return call();
    } catch (...) {
      ++errors_[static_cast<size_t>(kind)];
      throw;
    }
  }
  // Counts of errors since they were last taken.
  const ErrorCounts& errors() const { return errors_; }
  ErrorCounts take_errors() { return std::exchange(errors_, {}); }

  // Returns whether a request has created a file that it could not remove, since the last call.
  bool take_left() { return std::exchange(left_, false); }

 private:
  Looked look_at(const std::string& path);
  Answer look(const std::string& path);
  Answer open(const Request& request);
  int64_t share_found(const std::string& path, const Looked& found, const Request& request);
  int64_t make(const Request& request, const Looked& found, const format::StripeIdentity& identity);
  void discard(Subfile& subfile);
  int64_t share(const std::string& path, bool writable, const format::StripeIdentity& identity);
  void finish(Subfile& subfile);
  Answer remove(const std::string& path);
  void rename(const std::string& from, const std::string& to);
  // `opened` is set as soon as the file is open.
  void keep_identity(const std::string& path, const format::StripeIdentity& identity, Access access,
                     bool* opened = nullptr);
  // Changes a field of the identity of a subfile in use, on disk and in memory.
  template <class Field>
  void set_identity(Subfile& subfile, Field format::StripeIdentity::*field, Field value);

  Store& store_;
  std::map<int64_t, std::shared_ptr<Subfile>> handles_;  // one entry per user of a subfile
  std::map<std::pair<std::string, bool>, std::weak_ptr<Subfile>> in_use_;
  int64_t next_handle_ = 1;
  ErrorCounts errors_{};
  bool left_ = false;  // a request has created a file that it could not remove
};

}  // namespace sheaf::sfio
