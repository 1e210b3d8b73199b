// sfio/striped_file: an open striped file, as seen by one compute task. All functions are local; in
// collective calls (sfio/api), one task opens the file and the other tasks adopt its token.
//
// Errors are sheaf::Error with the listener's name and the path. Threads: calls are serialized by the link's
// lock. The user of an Operation in flight takes that lock around advance() and finish().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "format/stripe_identity.hpp"
#include "layout/stripes.hpp"
#include "sfio/operation.hpp"
#include "sfio/stripe_name.hpp"

namespace sheaf::sfio {

// Current state of one subfile of a name.
struct FoundSubfile {
  int listener = 0;
  bool exists = false;
  bool has_identity_file = false;
  int64_t size = 0;
  int64_t block_size = 0;
  int64_t allocated = 0;
  bool is_directory = false;
  bool is_own = true;  // false: a file that is no subfile and must not be removed or replaced
  std::optional<format::StripeIdentity> identity;
};
// Returns the state of all subfiles of `name`. Queries all listeners at once. Throws the errors of the
// listeners and of the link.
SHEAF_EXPORT std::vector<FoundSubfile> look(Link& link, const StripeName& name);

// Returns the logical size of a striped file with these subfile sizes.
SHEAF_EXPORT int64_t logical_size(const layout::Stripes& stripes, std::span<const int64_t> subfile_sizes);

struct StripedStatus {
  int64_t size = 0;        // bytes of the logical file
  int64_t unit = 0;        // bytes
  int64_t block_size = 0;  // the largest of the subfiles' file systems
  int64_t allocated = 0;   // bytes of disk space of all subfiles
  std::vector<int64_t> subfile_sizes{};
  int32_t listeners = 0;  // listeners that hold the subfiles
};

class SHEAF_EXPORT StripedFile {
 public:
  // Opens a file. If name.unit is 0, uses the unit of the existing file, or `unit_of_new` for a new one.
  // Creates all subfiles of a new file. If that fails, removes the files created by this call, unless another
  // task already uses them. If some cannot be removed, because a listener is dead or its disk fails, subfile
  // 0 stays, marked as incomplete, and the next open that may create the file completes it. Throws not_found,
  // also if a single subfile is missing; mismatch for a different stripe unit, order or number of subfiles,
  // or for subfiles of different files; damaged for a short subfile or a lost identity; and io with EEXIST
  // for `fresh`.
  static std::unique_ptr<StripedFile> open(const std::shared_ptr<Link>& link, const StripeName& name,
                                           SubfileOpenMode mode, int64_t unit_of_new = default_stripe_unit);

  // Creates an empty file without a stripe unit, which the first open will choose. Throws like open() with
  // `fresh`.
  static void make_empty(const std::shared_ptr<Link>& link, const StripeName& name);

  // token() returns what another task needs to use the file through its own link to the same listeners, with
  // one entry per subfile. adopt() returns the file on that task.
  struct SubfileToken {
    int64_t unit = 0;  // bytes of a stripe unit, equal for all subfiles
    int64_t listener = 0;
    int64_t handle = 0;
  };
  std::vector<SubfileToken> token() const;
  static std::unique_ptr<StripedFile> adopt(std::shared_ptr<Link> link, const std::string& name,
                                            std::span<const SubfileToken> token);

  Link& link() { return *link_; }
  const layout::Stripes& stripes() const { return stripes_; }
  const std::string& name() const { return name_; }

  // Throws invalid_argument for offsets or lengths that no file can have.
  void check(std::span<const Block> blocks) const;
  // Starts a transfer; checks the blocks first.
  std::unique_ptr<Operation> start(Direction direction, std::span<const Block> blocks);

  // Transfers the blocks and waits until they are done. Bytes beyond the end of the file read as zero.
  // Returns the bytes moved, as moved() does.
  int64_t transfer(Direction direction, std::span<const Block> blocks);
  void write(std::span<const Block> blocks) { transfer(Direction::write, blocks); }
  void read(std::span<const Block> blocks) {
    const std::lock_guard hold(link_->lock());
    start(Direction::read, blocks)->finish();
  }
  // Reads a single block. Returns the number of bytes read, which is smaller than the length only at the end
  // of the file.
  int64_t read_block(const Block& block) { return transfer(Direction::read, {&block, 1}); }
  // Returns the bytes that a finished transfer of `blocks` has moved: all bytes or, for a read of a single
  // block, the bytes before the end of the file.
  int64_t moved(const Operation& operation, std::span<const Block> blocks);

  // Transfers without the request cache: one message and one disk request per stripe unit, one at a time
  // (mread, mwrite of the paper, for comparison).
  void transfer_simply(Direction direction, const Block& block);

  StripedStatus status();
  void resize(int64_t size);
  void sync();

  // Locks a range like File::lock_range() (storage/file.hpp). The listener of the first subfile manages the
  // locks; without a session, the operating system does. close() releases all locks.
  RangeLock lock_range(const LockRequest& wanted);

  // Closes the file for all tasks that share it; one of them must call it, once. Throws the errors of the
  // listeners; the file is closed even then.
  void close();

 private:
  StripedFile(std::shared_ptr<Link> link, std::string name)
      : link_(std::move(link)), name_(std::move(name)) {}

  // Fate of the files that a failed open has created.
  enum class FailedOpenFate : uint8_t {
    removed,
    partial,  // a file is left on a listener: keep subfile 0, so that the next open resumes
    kept,     // all subfiles exist
  };

  void ask_for_all(const StripeName& name, SubfileOpenMode mode, const std::vector<FoundSubfile>& found,
                   FailedOpenFate& state);
  void give_up(FailedOpenFate state);
  // Sends a request for each subfile, with a value chosen by its number.
  std::vector<Answer> ask_all(
      RequestKind kind, const std::function<int64_t(int)>& value = [](int) { return 0; },
      OnError on_error = OnError::thrown);

  std::shared_ptr<Link> link_;
  std::string name_;
  layout::Stripes stripes_;
  std::vector<SubfileHandle> subfiles_;
  // Exists until close(). Locks that outlive the file observe it by a weak_ptr.
  std::shared_ptr<char> open_ = std::make_shared<char>();
};

// Removes all existing parts of a striped file; returns true if there were any.
SHEAF_EXPORT bool remove_striped(Link& link, const StripeName& name);

// Renames every subfile on its host, replacing an existing file. Throws invalid_argument unless the subfiles'
// hosts and number agree. Not atomic over several listeners: after an error, opens refuse the intermediate
// state.
SHEAF_EXPORT void rename_striped(Link& link, const StripeName& from, const StripeName& to);

}  // namespace sheaf::sfio
