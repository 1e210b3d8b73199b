// stripedfile/striped_file: one open striped file, as seen by one compute task. Everything here is local:
// collective calls (api/sfio) let one task open and the others adopt what it found.
//
// Errors are sheaf::Error with the listener's name and the path. Threads: calls are serialized by the link's
// lock, but for an Operation that is under way, whose user takes the lock around advance() and finish().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "format/stripe_identity.hpp"
#include "layout/stripes.hpp"
#include "stripedfile/operation.hpp"
#include "stripedfile/stripe_name.hpp"

namespace sheaf::sfio {

// What a name stands for at the moment.
struct FoundSubfile {
  int listener = 0;
  bool exists = false;
  bool has_identity_file = false;
  int64_t size = 0;
  int64_t block_size = 0;
  int64_t allocated = 0;
  bool is_directory = false;
  bool is_own = true;  // false: not a file of ours, which nobody may remove or replace
  std::optional<format::StripeIdentity> identity;
};
// Asks all listeners at once. Throws what they or the link throw.
SHEAF_EXPORT std::vector<FoundSubfile> look(Link& link, const StripeName& name);

// Logical size of a striped file whose subfiles have these sizes.
SHEAF_EXPORT int64_t logical_size(const layout::Stripes& stripes, std::span<const int64_t> subfile_sizes);

struct StripedStatus {
  int64_t size = 0;        // bytes of the logical file
  int64_t unit = 0;        // bytes
  int64_t block_size = 0;  // the largest of the subfiles' file systems
  int64_t allocated = 0;   // bytes that the subfiles take
  std::vector<int64_t> subfile_sizes{};
  int32_t listeners = 0;  // that hold them
};

class SHEAF_EXPORT StripedFile {
 public:
  // Opens. name.unit 0: the file's own, for a new one `unit_of_new`. A new file is made as a whole or, if
  // that fails, what this call has made of it is removed again, unless somebody else uses it by now. Where
  // that cannot be done, because a listener is gone or its disk fails, subfile 0 stays too, marked as
  // incomplete, and the next open that may make files goes on with it. Throws not_found (also a single
  // missing subfile), mismatch (another stripe unit, order or number, subfiles of different files), damaged
  // (short subfile, lost identity), io with EEXIST for `fresh`.
  static std::unique_ptr<StripedFile> open(const std::shared_ptr<Link>& link, const StripeName& name,
                                           OpenMode mode, int64_t unit_of_new = default_stripe_unit);

  // Makes a file without bytes and without a stripe unit, which the first open chooses. Throws as `fresh`.
  static void make_empty(const std::shared_ptr<Link>& link, const StripeName& name);

  // What another task needs to use the file through its own link to the same listeners; numbers only.
  std::vector<int64_t> token() const;
  static std::unique_ptr<StripedFile> adopt(std::shared_ptr<Link> link, const std::string& name,
                                            std::span<const int64_t> token);

  Link& link() { return *link_; }
  const layout::Stripes& stripes() const { return stripes_; }
  const std::string& name() const { return name_; }

  // Throws invalid_argument for offsets and lengths that no file has.
  void check(std::span<const Block> blocks) const;
  // Starts a transfer; checks the blocks first.
  std::unique_ptr<Operation> start(Direction direction, std::span<const Block> blocks);

  // The same and waits; what lies behind the end of the file is read as zero. Returns moved().
  int64_t transfer(Direction direction, std::span<const Block> blocks);
  void write(std::span<const Block> blocks) { transfer(Direction::write, blocks); }
  void read(std::span<const Block> blocks) {
    const std::lock_guard hold(link_->lock());
    start(Direction::read, blocks)->finish();
  }
  // Bytes read of a single block, less than its length only at the end of the file.
  int64_t read_block(const Block& block) { return transfer(Direction::read, {&block, 1}); }
  // Bytes that a transfer of these blocks has moved, once it is finished: all of them, or of a single one
  // that was read those that the file has, up to its end.
  int64_t moved(const Operation& operation, std::span<const Block> blocks);

  // Without the request cache: one message and one disk request for every piece of a stripe, one after the
  // other (mread, mwrite of the paper, for comparison).
  void transfer_simply(Direction direction, const Block& block);

  StripedStatus status();
  void resize(int64_t size);
  void sync();

  // As File::lock_range() (storage/store.hpp); the first subfile's listener keeps the books, without a
  // session the operating system. A lock also ends with close().
  RangeLock lock_range(const LockRequest& wanted);

  // Once, by one of the tasks that share it. The file is released even if it throws.
  void close();

 private:
  StripedFile(std::shared_ptr<Link> link, std::string name)
      : link_(std::move(link)), name_(std::move(name)) {}

  // What becomes of what a failed open has made.
  enum class Made : uint8_t {
    goes,
    in_part,  // something is left on a listener: subfile 0 stays, so that the next open goes on
    stays,    // all is there
  };

  void ask_for_all(const StripeName& name, OpenMode mode, const std::vector<FoundSubfile>& found,
                   Made& state);
  void give_up(Made state);
  // Of all subfiles, with a value for each, by number.
  std::vector<Answer> ask_all(
      Kind kind, const std::function<int64_t(int)>& value = [](int) { return 0; },
      OnError on_error = OnError::raise);

  std::shared_ptr<Link> link_;
  std::string name_;
  layout::Stripes stripes_;
  std::vector<SubfileHandle> subfiles_;
  std::shared_ptr<char> open_ = std::make_shared<char>();  // until close(), for locks that outlive it
};

// Removes what there is of a striped file; true if there was anything.
SHEAF_EXPORT bool remove_striped(Link& link, const StripeName& name);

// Renames every subfile where it is, replacing what is at the new name. Throws invalid_argument unless hosts
// and number of the subfiles agree. Not atomic over several listeners: what an error leaves in between is
// refused when opened.
SHEAF_EXPORT void rename_striped(Link& link, const StripeName& from, const StripeName& to);

}  // namespace sheaf::sfio
