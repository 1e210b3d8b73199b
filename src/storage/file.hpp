// storage/file: the only way from Sheaf to the bytes of files.
//
// A File makes large positional transfers. It has no notion of tasks, chunks or multifiles. All offsets and
// lengths are in bytes. Every call either succeeds completely or throws sheaf::Error with the path and the
// errno; interrupted and short transfers are resumed inside. After a failed transfer, the contents of its
// byte range of the file are undefined; bytes outside the range are unchanged.
//
// Threads: the positional calls of one File may be used from several threads. close() must not run
// concurrently with another call on the same File.
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
#include "storage/range_lock.hpp"

namespace sheaf {

class Store;                      // storage/store.hpp
enum class FileSystem : uint8_t;  // storage/filesystem/traits.hpp

enum class Access : uint8_t {
  read,    // the file must exist
  write,   // read and write; the file must exist
  create,  // read and write; creates a missing file (mode 0666 less umask), keeps existing contents
  fresh,   // read and write; the file must not exist: fails with EEXIST otherwise
  // Read and write; the file must exist. Used for files beside those that a user has named
  // (storage/beside.hpp): the open throws `foreign` unless it finds a regular file, without other names and
  // not through a link. It never waits.
  sidecar,
};

struct FileStatus {
  bool exists = false;
  bool is_directory = false;
  int64_t size = 0;  // bytes
  // st_blksize in bytes: the preferred block size of the file system. Some file systems report the page size
  // of the host, so tasks on several hosts must agree on the largest value or on that of one task.
  int64_t block_size = 0;
  int64_t allocated = 0;          // bytes of disk space; 0 if the store cannot determine it
  bool is_special = false;        // a device, pipe or socket: must not be replaced by a file
  int64_t links = 1;              // number of names; 0: removed while open. 1 if the store does not count
  int64_t owner = 0;              // numeric user id; 0 if the store has none
  bool is_own = true;             // owned by the user of this process
  bool others_may_write = false;  // the mode lets the group or all users write
  // Together, the two numbers identify the file on this host, whatever names it has; 0 if the store does not
  // know them.
  uint64_t device = 0;
  uint64_t number = 0;
  int64_t modified = 0;  // last change of the bytes, in nanoseconds since 1970; 0: unknown
};

// Segment: bytes of a file from `offset`, and the memory for them.
template <class Byte>
struct Piece {
  int64_t offset = 0;
  std::span<Byte> memory;

  int64_t end() const { return offset + std::ssize(memory); }
};

// Kind of space that next() searches for.
enum class Space : uint8_t { data, hole };

// Kind of descriptor that a caller requests.
enum class DescriptorKind : uint8_t {
  file,  // the File's own; remains owned by the File
  // A separate descriptor with its own position, closed on exec, owned by the caller. The name of the file is
  // opened again, resolved as when the File was opened.
  reader,
  writer,  // likewise, for reading and writing
};

struct FileDescriptor {
  int number = -1;            // -1: none
  std::shared_ptr<void> pin;  // DescriptorKind::file: keeps an evictable file's descriptor open
};

// Properties of an open file, for code that chooses how to transfer. Properties of the file system are in
// storage/filesystem/traits.hpp.
struct FileTraits {
  // True for files on I/O listeners: each request costs a message, whatever its size. Callers then pass many
  // segments together (File::write_pieces), and no write reads bytes in order to write them back.
  bool dear_requests = false;
  // True if tasks of several hosts have the file open, each host with its own page cache
  // (storage/visibility.hpp). No write then reads bytes in order to write them back.
  bool own_caches = false;
  bool evictable = false;  // File::evict() may succeed
  // Size in bytes of a regular file when it was opened for reading. Needs no message; invalid if the file has
  // been truncated since. -1: unknown.
  int64_t opened_size = -1;
  // Threads that the library starts may call the File. False for simulated file systems, which count the time
  // of the calling task.
  bool any_thread = false;
  bool computes_sums = false;  // File::begin_sums() may succeed. Such a file is best written in order, once

  bool written_as_pieces() const { return dear_requests || own_caches; }
};

// docs/internals-exchange.md, "The calls of a File", gives the reason for each call.
class File : private NonCopyable {
 public:
  virtual ~File() = default;

  // Writes all of `data` at `offset`.
  virtual void write_at(std::span<const std::byte> data, int64_t offset) = 0;

  // Writes segments that do not overlap, in as few requests as the store supports. After a failure, the
  // contents of all segments are undefined.
  virtual void write_pieces(std::span<const Piece<const std::byte>> pieces);

  // Fills `data` from `offset`. Returns the bytes read; fewer than requested only at the end of the file.
  virtual size_t read_at(std::span<std::byte> data, int64_t offset) = 0;

  // Like read_at(), for bytes that the caller compares with known checksums: does not verify that the file is
  // the one that was opened (WatchedFile). Equal to read_at() by default.
  virtual size_t read_verified(std::span<std::byte> data, int64_t offset) { return read_at(data, offset); }

  // Fetches bytes that read_at() calls will soon return, in one request. The bytes may be those at the time
  // of this call until drop_prefetched() or revalidate(). Throws the errors of read_at(). No effect by
  // default.
  virtual void prefetch(int64_t /*offset*/, int64_t /*length*/) {}
  // Discards what prefetch() has fetched at and after offset `from`.
  virtual void drop_prefetched(int64_t /*from*/) {}

  // Fills segments. Bytes beyond the end of the file read as zero.
  virtual void read_pieces(std::span<const Piece<std::byte>> pieces);

  // Returns the size of the file and its preferred block, both in bytes.
  virtual FileStatus status() = 0;

  // Makes the file exactly `size` bytes long; new bytes read as zero.
  virtual void resize(int64_t size) = 0;

  // Makes all bytes written through this File durable, so that they survive a power failure.
  virtual void sync() = 0;

  // Revalidates: syncs, then discards this host's cached state of the file. Later reads, and the size,
  // include what other hosts have closed or synced. Keeps locks. No effect by default. Throws the errors of
  // sync(), and ESTALE or not_found if the file no longer exists on its server.
  virtual void revalidate() {}
  // Like revalidate() for a file that was just opened; does not query again what the open has returned.
  // Returns the number of names (FileStatus::links).
  virtual int64_t revalidate_opened() {
    revalidate();
    return status().links;
  }

  // Publishes all bytes written on this host, directly or through the cache. The bytes need not be on a
  // device yet; sync() ensures that. Syncs by default. Throws the errors of sync().
  virtual void publish() { sync(); }

  // Like write_at(), but bypasses this host's cache: writes exactly these bytes, and bytes that other hosts
  // have written next to them stay. The bytes reach the server by publish() or sync() at the latest. Returns
  // false if the file system does not support such a write, or not for this offset and length; some of the
  // bytes may have been written even then. The default is for stores without a cache.
  virtual bool write_directly(std::span<const std::byte> data, int64_t offset) {
    write_at(data, offset);
    return true;
  }
  // Like read_at(), but reads the server's bytes, as far as the file system allows. Requires that the caller
  // has revalidated.
  virtual size_t read_directly(std::span<std::byte> data, int64_t offset) { return read_at(data, offset); }

  // Sets the kind of file system that one task has determined for all tasks. Until this call, the file
  // determines the kind itself when it needs it.
  virtual void know(FileSystem /*kind*/) {}

  // Returns the first offset >= `offset` in data or in a hole, as `space` says, or the file size if there is
  // none. Bytes outside holes are data. A store may report fewer holes than there are, or none.
  virtual int64_t next(Space space, int64_t offset) = 0;

  // Locks a range: exclusively, or shared with other shared locks. The lock conflicts with locks of any other
  // holder: another process, another File of this process, or another thread with this File. `on_conflict`
  // says how to handle a conflict; waits are bounded (storage/range_lock.hpp). Locks are advisory: they
  // exclude other locks, not transfers. A thread must not lock a range that overlaps one it already holds.
  // Throws io if the file system has no locks, and io with errno EAGAIN if the range has not become free in
  // time. The default implementation, for stores of a single task, locks nothing.
  virtual RangeLock lock_range(const LockRequest&) { return {{std::shared_ptr<void>(), this}}; }
  RangeLock lock(int64_t offset, int64_t length, bool exclusive, OnConflict on_conflict = OnConflict::wait) {
    return lock_range({offset, length, exclusive, on_conflict, lock_timeout(lockers_, length)});
  }
  // Sets the number of tasks that may lock ranges of the file. A lock() then waits long enough for all of
  // them to have their turn.
  void expect_lockers(int64_t tasks) { lockers_ = tasks; }

  virtual FileTraits traits() { return {}; }

  // Checksums that the file computes while it copies the bytes. begin_sums() lets it compute a CRC32C for
  // every `piece` bytes from `origin` on, of bytes that are written in order from there; a later call for the
  // same origin continues. Returns false if the file computes none. take_sums() stores the checksums of the
  // first `bytes` bytes from `origin`, the last one possibly of a shorter piece. Returns
  // false, and stores nothing, if the bytes were not written in order. The default implementation computes
  // none.
  virtual bool begin_sums(int64_t /*origin*/, uint32_t /*piece*/) { return false; }
  virtual bool take_sums(int64_t /*origin*/, int64_t /*bytes*/, std::span<uint32_t> /*sums*/) {
    return false;
  }

  // Throws `foreign` if the file is known to have been rewritten since it was opened. Called after reading
  // data that are wrong.
  virtual void require_unchanged() {}

  // evict() closes the descriptor until reopen(). It returns false if the file still needs the descriptor,
  // because it is writable or not open, or if there is none. reopen() throws the errors of an open, and io
  // (ESTALE) if the name now belongs to another file; the file stays evicted then. Must not run concurrently
  // with other calls on the file.
  virtual bool evict() { return false; }
  virtual void reopen() {}

  // Returns a descriptor of the operating system. Throws the errors of an open for a separate descriptor, and
  // `unsupported` if the store has no descriptors.
  virtual FileDescriptor descriptor(DescriptorKind kind);

  // Returns the name under which the file was opened, for messages.
  virtual const std::string& path() const = 0;

  // Closes the file. Throws if the operating system reports a delayed error; the file is closed even then.
  // The destructor silently closes a file that is still open.
  virtual void close() = 0;

 private:
  int64_t lockers_ = 1;
};

// Copies `length` bytes of `source` at `offset` to `target` at `target_offset`, inside the kernel if both
// have a descriptor. Throws Code::damaged if the source ends early. Within one file, the ranges must not
// overlap.
void copy_range(File& source, File& target, int64_t offset, int64_t target_offset, int64_t length);

// Allocates space for the first `size` bytes if the file system supports that. The file is at least `size`
// bytes long afterwards. Existing bytes are kept; new bytes read as zero.
void set_room_aside(File& file, int64_t size);

// Maps `length` bytes of the file from `offset`, a multiple of the page size. Stores to the mapping are
// visible to readers at once and survive a kill of the process. Only bytes that have been written before may
// be used, because their space is allocated. The traits must say that mappings agree with reads. The last
// copy of the result unmaps; the File may be closed before. Returns null if the file has no descriptor or
// cannot be mapped.
std::shared_ptr<std::byte> map_range(File& file, int64_t offset, int64_t length);

// Discards bytes that are no longer needed. They read as zeros or as before; their space is released if the
// file system supports that.
void discard_range(File& file, int64_t offset, int64_t length);

// Publishes as a close does, but keeps the file open: a task that opens the file later sees the bytes
// written. Throws the errors of close(). File::publish() also reports errors that some file systems report
// in fsync(2) only.
void publish_by_close(File& file);

}  // namespace sheaf
