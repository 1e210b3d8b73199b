// streams/container/container_set: sets of streams that are created by name at any time (docs/format.md,
// "Containers").
//
// A set NAME is written by processes that start and end at any time, on any number of hosts. Each host has
// one container, a separate file next to NAME (streams/container/container_names.hpp). A host never writes to
// the container of another host, and never waits for one. The processes of a host share one view, like that
// of a local file system. Creating, appending, truncating, renaming and removing a stream take effect at
// once. Data of other hosts becomes visible when a stream is opened after the writer has closed it. If an
// earlier gather() has created the multifile NAME (streams/container/gather.hpp), the named streams of that
// multifile belong to the set. Records in containers modify them.
//
// Once a write has returned, its bytes are in the container's file (the page cache), even if the process is
// killed. A container needs no close. sync() makes the bytes survive a loss of power.
//
// Names are byte strings of 1 to max_stream_name bytes without NUL; slashes have no meaning. File capture
// uses the path of the file relative to the directory of NAME. Times are nanoseconds since 1970. Sizes and
// offsets are bytes and are checked: an access beyond largest_stream fails with EFBIG.
//
// Failures are sheaf::Error with the errno a file system would give (errno_value()): ENOENT, EEXIST, ENOSPC,
// ENAMETOOLONG, EIO and so on. A failed call changes nothing except the bytes in the range of a failed write.
// remove() and rename() may also fail after they took effect, if other hosts could not be notified.
//
// Threads: all functions may be called from any thread. Forks: a child inherits the set and its open streams
// and writes independently, without any call. Locks are held at most for the write of one stream, and a
// killed process loses its locks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/export.hpp"
#include "multifile/options/checking.hpp"
#include "storage/allocation.hpp"
#include "storage/file.hpp"

namespace sheaf::streams {

inline constexpr int64_t max_stream_name = 4095;             // bytes
inline constexpr int64_t largest_stream = int64_t{1} << 60;  // bytes

struct StreamStatus {
  // Inode number (st_ino): identifies the stream in all processes of a host while it is open. Never 0.
  uint64_t number = 0;
  int64_t size = 0;      // bytes
  int64_t modified = 0;  // st_mtim
  int64_t changed = 0;   // st_ctim
  uint32_t mode = 0;     // permissions, without the type: 0644
  bool linked = true;    // the stream has a name
  int64_t block = 4096;  // bytes, preferred request size of the file system, for st_blksize
};

// Destination of a stream that was renamed out of its set.
struct StreamTarget {
  std::string path;     // absolute, as passed to move_out()
  uint64_t device = 0;  // st_dev of a plain file; 0: a stream of another set, perhaps not yet named
  uint64_t number = 0;  // st_ino of the file, or StreamStatus::number of the stream
};

// Tells where the offset of a write comes from. This decides which later write repairs a failed one
// (streams/container/failed_writes).
enum class WriteAt : uint8_t {
  offset,    // an offset given by the program
  position,  // the program's current position, or the end of the stream
};

// The extent of appended bytes.
struct Appended {
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t end() const { return offset + bytes; }
};

struct StreamAttributes {
  std::optional<uint32_t> mode;
  std::optional<int64_t> modified;
};

// An open stream. As with an open file, the handle refers to the same stream after a rename. The stream stays
// readable and writable after its name was removed or given to another stream.
class SHEAF_EXPORT ContainerStream {
 public:
  virtual ~ContainerStream() = default;  // closes; never waits, never throws

  // Fills `data` from `offset`. Returns the number of bytes read, which is smaller than requested only at the
  // end of the stream. Bytes that were never written read as zero.
  virtual size_t read(std::span<std::byte> data, int64_t offset) = 0;

  // write() writes at `offset`; append() writes at the end of the stream and keeps the bytes of one call
  // contiguous. Both concatenate `parts` and write them in one request. write() returns the number of bytes
  // written, which is at least 1 and may be less than requested. status() includes these bytes. Throws if no
  // byte was written. Until missing bytes are written again, flush() and sync() fail
  // (streams/container/failed_writes).
  int64_t write(std::span<const std::byte> data, int64_t offset) {
    return write({&data, 1}, offset, WriteAt::offset);
  }
  virtual int64_t write(std::span<const std::span<const std::byte>> parts, int64_t offset, WriteAt how) = 0;
  // Writes all of `data` at `offset`, or throws.
  void write_all(std::span<const std::byte> data, int64_t offset) {
    for (int64_t done = 0; !data.empty(); offset += done) {
      done = write(data, offset);
      data = data.subspan(static_cast<size_t>(done));
    }
  }
  Appended append(std::span<const std::byte> data) { return append({&data, 1}); }
  virtual Appended append(std::span<const std::span<const std::byte>> parts) = 0;

  // Sets the size; added bytes read as zero.
  virtual void truncate(int64_t size) = 0;

  // Reserves space for bytes [offset, offset + length), so that writing them cannot fail for lack of space.
  // With `extend`, the stream is extended to at least offset + length; otherwise bytes beyond its end are
  // ignored. `what` must not be `hole` if `extend` is set.
  virtual void allocate(int64_t offset, int64_t length, bool extend, Allocation what) = 0;

  virtual StreamStatus status() = 0;
  virtual void set(const StreamAttributes& attributes) = 0;
  virtual std::string name() = 0;  // the current name; empty if removed

  // Returns the destination if a process of this host has renamed the stream out of the set
  // (ContainerSet::move_out), else nullopt. The destination contains all bytes written before the move. After
  // the move, all other calls fail with ESTALE.
  virtual std::optional<StreamTarget> moved() { return std::nullopt; }

  // Returns the absolute path of the plain file that the stream was moved to; empty if it is a stream of a
  // set.
  virtual std::string plain_path() { return {}; }

  // next_data() returns the first offset >= `offset` inside a written extent. next_hole() returns the first
  // one outside of all written extents; the end of the stream counts as a hole. Both return nullopt if there
  // is no such offset, where lseek(2) fails with ENXIO.
  virtual std::optional<int64_t> next_data(int64_t offset) = 0;
  virtual std::optional<int64_t> next_hole(int64_t offset) = 0;

  // Publishes all written bytes, as close(2) does: streams that other hosts open from now on have these
  // bytes. Cheap if all hosts share one cache. A caller that has written to the stream must call flush()
  // before it destroys the stream, because the destructor cannot report errors. flush() and sync() throw the
  // error of a failed write that was not repeated.
  virtual void flush() = 0;
  virtual void sync() = 0;  // fsync(2)
};

struct StreamOpening {
  bool create = false;     // create the stream if it does not exist
  bool exclusive = false;  // with create: fail with EEXIST if the stream exists
  bool truncate = false;   // set the size to 0
  bool asked = false;      // the caller has just called status(): do not check other hosts again
  bool write = false;      // otherwise, writes may fail with EBADF; implied by create and truncate
  uint32_t mode = 0644;    // permissions of a new stream; the caller applies the umask
};

// Name and shared memory of a host; the defaults are those of this machine. Other values simulate hosts.
struct ContainerHost {
  std::string name;                           // empty: container_host_name()
  std::string memory_directory = "/dev/shm";  // must be on a file system in memory
};

class SHEAF_EXPORT ContainerSet {
 public:
  // Opens the set NAME at `path`; a relative path starts at the store's directory. No file is created before
  // the first stream is: a set without files is empty. `store` must outlive the set and its streams.
  //
  // Reads verify checksums and throw `damaged` on a mismatch, unless `checking` is off or SHEAF_FLAGS has
  // checksums=off. With these flags, a container created by this set has no checksums. Throws the errors of
  // opening files, `damaged` for invalid containers, and `no_space` or `io` if memory cannot be shared.
  static std::shared_ptr<ContainerSet> open(Store& store, const std::string& path,
                                            const ContainerHost& host = {},
                                            multifile::Checking checking = multifile::Checking::on);

  // Registers the fork handlers of all sets, unless they are registered already. A caller that holds locks of
  // its own during calls of sets must register its fork handlers after this call. A fork then acquires the
  // caller's locks first.
  static void watch_forks();

  virtual ~ContainerSet() = default;  // open streams stay usable

  virtual const std::string& path() const = 0;

  // Opens the stream `name`. Returns null if it does not exist and `create` is not set.
  virtual std::shared_ptr<ContainerStream> open_stream(std::string_view name,
                                                       const StreamOpening& opening) = 0;

  // Opens the stream with this StreamStatus::number, regardless of its current name. This includes a removed
  // stream that a process of this host still holds open. The result is read-only if no process of this host
  // has written to the set. Returns null if there is no such stream.
  virtual std::shared_ptr<ContainerStream> open_number(uint64_t number) = 0;

  // Returns the status of the stream `name`; nullopt if it does not exist.
  virtual std::optional<StreamStatus> status(std::string_view name) = 0;
  // Does the same as status(), but uses the last known state of other hosts instead of checking for streams
  // that they have closed since. For callers that create or empty the stream in any case. If two hosts create
  // the same name, the result is one stream, which is emptied by the later create.
  virtual std::optional<StreamStatus> known(std::string_view name) { return status(name); }

  // Change a stream without opening it. Return false if the stream does not exist.
  virtual bool set(std::string_view name, const StreamAttributes& attributes) = 0;
  virtual bool truncate(std::string_view name, int64_t size) = 0;

  // Returns false if the stream does not exist.
  virtual bool remove(std::string_view name) = 0;
  // Renames a stream; a stream with the name `to` is removed in the same step. Returns false if `from` does
  // not exist. With `keep`, an existing `to` is left unchanged and EEXIST is thrown (RENAME_NOREPLACE).
  virtual bool rename(std::string_view from, std::string_view to, bool keep = false) = 0;

  struct Leaving {
    std::function<size_t(std::span<std::byte> data, int64_t offset)> read;
    std::function<std::optional<int64_t>(int64_t offset)> next_data, next_hole;
  };
  using CopyOut = std::function<std::pair<uint64_t, uint64_t>(const Leaving&, const StreamStatus&)>;
  // Renames a stream to a file outside of this set. `copy` must create `target` and return its device and
  // number. It reads the stream through `Leaving`, whose functions work as those of ContainerStream. Other
  // accesses to the stream wait until `copy` returns. Afterwards they fail with ESTALE, and moved() returns
  // the destination. Returns false if the stream does not exist. Throws the errors of `copy`, and those of
  // recording the move in the container; in both cases the stream stays in the set.
  virtual bool move_out(std::string_view name, const std::string& target, const CopyOut& copy) = 0;

  using Visit = std::function<void(std::string_view name, const StreamStatus&)>;
  // Calls visit(name, status) for each stream with a name that begins with `prefix`, in unspecified order.
  // Streams that are created or removed during the call may be visited or not. `visit` may call functions of
  // the set.
  virtual void list(std::string_view prefix, const Visit& visit) = 0;

  // Reads the changes that other hosts have published. open_stream() without `create`, status() and list() do
  // this by themselves.
  virtual void revalidate() = 0;

  // Returns whether another process of this host has the set open.
  virtual bool shared() = 0;
};

}  // namespace sheaf::streams
