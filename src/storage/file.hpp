// storage/file: the only way from Sheaf to the bytes of files.
//
// A File does large positional transfers. It knows no task, chunk or multifile. All offsets and lengths are
// in bytes. Every call either does all it says or throws sheaf::Error with the path and the errno;
// interrupted and short transfers are continued inside. What a failed transfer leaves in its byte range of
// the file is undefined; bytes outside the range are untouched.
//
// Threads: the positional calls of one File may be used from several threads. close() may not run while
// another call on the same File does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.hpp"
#include "base/non_copyable.hpp"
#include "storage/file_traits.hpp"
#include "storage/range_lock.hpp"

namespace sheaf {

class Store;              // storage/store.hpp
struct FileSystemTraits;  // storage/traits/traits.hpp

enum class Access : uint8_t {
  read,    // the file must exist
  write,   // read and write; the file must exist
  create,  // read and write; created (mode 0666 less umask) if missing; contents are kept if it exists
  fresh,   // read and write; must not exist yet: fails with EEXIST otherwise
  beside,  // read and write; must exist. For what lies beside files that a user has named
           // (storage/beside.hpp): throws `foreign` unless it is a regular file that has no other name and
           // that no link in its place leads to. Never waits.
};

struct FileStatus {
  bool exists = false;
  bool is_directory = false;
  int64_t size = 0;  // bytes
  // st_blksize in bytes: the unit in which the file system likes to be accessed, on some the page of the
  // host: tasks of several agree on the largest, or on that of one
  int64_t block_size = 0;
  int64_t allocated = 0;    // bytes it takes on disk; 0 where the store does not know
  bool is_special = false;  // a device, pipe or socket: not to be replaced by a file
  int64_t links = 1;   // names it has; 0: it was removed while it is open. 1 where the store does not count
  int64_t owner = 0;   // whose it is: a number of the operating system, 0 where the store has none
  bool is_own = true;  // it belongs to the user of this process
  bool others_may_write = false;  // its mode lets its group or everybody write
  // Which file it is, of all on this host, whatever names it has; 0 where the store does not know.
  uint64_t device = 0;
  uint64_t number = 0;
};

// Bytes of a file from `offset` on, and the memory for them.
template <class Byte>
struct Piece {
  int64_t offset = 0;
  std::span<Byte> memory;

  int64_t end() const { return offset + std::ssize(memory); }
};

// Where a file has bytes of its own.
enum class Space : uint8_t { data, hole };

// Which descriptor of a file is wanted.
enum class Whose : uint8_t {
  file,    // its own, which stays its
  reader,  // another one with a position of its own, closed on exec, that the caller owns; opened by the name
           // of the file, which means what it meant when the File was opened
  writer,  // the same, also to write
};

struct FileDescriptor {
  int number = -1;            // -1: there is none
  std::shared_ptr<void> pin;  // Whose::file: keeps it open if the File may do without it for a while
};

// docs/architecture.md says why each of these calls is there.
class File : private NonCopyable {
 public:
  virtual ~File() = default;

  // Writes all of `data` at `offset`.
  virtual void write_at(std::span<const std::byte> data, int64_t offset) = 0;

  // Writes pieces that do not overlap, in as few requests as the store can. What a failure leaves in any of
  // them is open.
  virtual void write_pieces(std::span<const Piece<const std::byte>> pieces);

  // Fills `data` from `offset`; returns the bytes read, which is less than asked for only at the end of the
  // file.
  virtual size_t read_at(std::span<std::byte> data, int64_t offset) = 0;

  // Fills pieces. What lies behind the end of the file reads as zero.
  virtual void read_pieces(std::span<const Piece<std::byte>> pieces);

  // Size of the file and its preferred block, both in bytes.
  virtual FileStatus status() = 0;

  // Makes the file exactly `size` bytes long; new bytes read as zero.
  virtual void resize(int64_t size) = 0;

  // Returns when all bytes written through this File would survive a loss of power.
  virtual void sync() = 0;

  // Syncs, and forgets what this host has of the file, so that what others have closed or synced is read, and
  // its size is theirs. Locks stay. Nothing by default. Throws what sync() throws, also ESTALE or not_found
  // for a file that is gone at its server.
  virtual void renew() {}

  // First offset >= `offset` that is in such a space, or the file size: data is what is not inside a hole.
  // Stores without holes have data everywhere; they may know of fewer holes when asked for the next one.
  virtual int64_t next(Space space, int64_t offset) = 0;

  // Locks a range for this File alone (exclusive), or together with others who only read: no other holder
  // stands in the way then, be it in another process, another File of this one, or another thread with this
  // File. Waits as `barred` says, and not for ever: storage/range_lock.hpp tells how long, and what to do
  // about locks of the program's own. For those who ask for it, not for transfers. A thread may not lock a
  // range of which it holds a part. Throws io where the file system knows no locks, and with errno EAGAIN if
  // the range has not come free; nothing is held then. Stores for a single task need none, as here.
  virtual RangeLock lock_range(const LockRequest&) { return {{std::shared_ptr<void>(), this}}; }
  RangeLock lock(int64_t offset, int64_t length, bool exclusive, Barred barred = Barred::wait) {
    return lock_range({offset, length, exclusive, barred, lock_patience(lockers_, length)});
  }
  // Says that so many tasks, all in all, may lock ranges of the file: who waits for one with lock() lets all
  // of them have their turn.
  void expect_lockers(int64_t tasks) { lockers_ = tasks; }

  virtual FileTraits traits() { return {}; }

  // A descriptor of the operating system. Another one throws what an open throws; unsupported where there are
  // none.
  virtual FileDescriptor descriptor(Whose whose);

  // Name it was opened under, for messages.
  virtual const std::string& path() const = 0;

  // Releases the file. Throws if the operating system reports a delayed error; the file is released all the
  // same. The destructor closes silently a file that was not closed.
  virtual void close() = 0;

 private:
  int64_t lockers_ = 1;
};

// Copies `length` bytes of `source` at `offset` to `target` at `target_offset`, inside the kernel where both
// have a descriptor. Throws Code::damaged if the source ends before. Within one file the two ranges may not
// overlap.
void copy_range(File& source, File& target, int64_t offset, int64_t target_offset, int64_t length);

// Room for the first `size` bytes, as far as the file system can promise it; the file is then at least so
// long. What was there stays, new bytes read as zero.
void set_room_aside(File& file, int64_t size);

// Memory that is `length` bytes of the file from `offset` on, a multiple of the page: what is stored there is
// what others read at once, and stays if the process is killed. To be used only where bytes have been written
// before, which sets room aside, and where the traits say that mappings agree with reads. Unmapped with the
// last copy of the result; the File may be gone. null where the file has no descriptor, or cannot be mapped.
std::shared_ptr<std::byte> map_range(File& file, int64_t offset, int64_t length);

// Says that nobody wants these bytes any more: they read as zeros or as they were, and take no room where the
// file system can do that.
void discard_range(File& file, int64_t offset, int64_t length);

// What a close does for other hosts, while the file stays open: who opens it from now on finds what was
// written. Throws what close() throws.
void publish(File& file);

// Returns when what was written through `file` outlives this host: it is at the server, or on the disk where
// that cannot be told. Throws as File::sync().
void bring_to_server(File& file);

}  // namespace sheaf
