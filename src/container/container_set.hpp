// container/container_set: streams with names that nobody has to know in advance (docs/format.md,
// "Containers").
//
// A set NAME is written by processes that come and go, on any number of hosts. Each host has one container, a
// file of its own beside NAME (container/container_names.hpp); no host writes another's, none waits for
// another. What the processes of a host see is what a file system would show them: a stream that one of them
// creates, appends to, truncates, renames or removes is so for all others at once. Of other hosts they see
// what has been closed, when they open it. Below all of this may lie the multifile NAME, which an earlier
// gathering has made (container/gather.hpp): its named streams are there as well, and change by what is
// written in containers.
//
// Bytes of a write that has returned are in the container's file (the page cache), whatever becomes of the
// process: a container needs no close. sync() makes them survive a loss of power.
//
// Names are bytes, 1 to longest_stream_name of them, without NUL; a slash means nothing here. Whoever
// captures files uses the path of the file relative to the directory of NAME. Times are nanoseconds since
// 1970. Sizes and offsets are bytes, checked: what would end beyond largest_stream is an Error with EFBIG.
//
// Failures are sheaf::Error with the errno a file system would give (errno_value()): ENOENT, EEXIST, ENOSPC,
// ENAMETOOLONG, EIO and so on. A failed call leaves everything as it was, but for the bytes of its range of a
// stream that is written; remove() and rename() that other hosts cannot be told of have been carried out.
//
// Threads: everything here may be called from any thread. Forks: a child has the set and its open streams as
// the parent does, and writes for itself; nothing needs to be called. Locks are held over no more than the
// write of one stream, and end with a process that is killed.
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
#include "mode/checking.hpp"
#include "storage/allocation.hpp"
#include "storage/file.hpp"

namespace sheaf {

inline constexpr int64_t longest_stream_name = 4095;         // bytes
inline constexpr int64_t largest_stream = int64_t{1} << 60;  // bytes

struct StreamStatus {
  // The same for one stream in all processes of a host as long as it is open; never 0. For st_ino
  uint64_t number = 0;
  int64_t size = 0;      // bytes
  int64_t modified = 0;  // st_mtim
  int64_t changed = 0;   // st_ctim
  uint32_t mode = 0;     // permissions, without the type: 0644
  bool linked = true;    // it still has a name
  int64_t block = 4096;  // bytes: what its file system likes to be written at once, for st_blksize
};

// Where a stream has gone that was renamed out of its set.
struct StreamTarget {
  std::string path;     // absolute, as move_out() was told
  uint64_t device = 0;  // st_dev of a plain file there, whose st_ino is `number`; 0: a stream of another
  uint64_t number = 0;  // set, which has this StreamStatus::number, and perhaps not its name yet
};

// What a write counts from, which decides how one that has failed is repeated (container/failed_writes).
enum class WriteAt : uint8_t {
  offset,    // given by the program
  position,  // the position of the program, behind what it has read or written before; or the end
};

// Bytes that are at the end of a stream now.
struct Appended {
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t end() const { return offset + bytes; }
};

struct StreamAttributes {
  std::optional<uint32_t> mode;
  std::optional<int64_t> modified;
};

// A stream that is open. It stays what it is when it is renamed, and readable and writable when its name is
// removed or taken by another one, as an open file does.
class SHEAF_EXPORT ContainerStream {
 public:
  virtual ~ContainerStream() = default;  // closes; never waits, never throws

  // Fills `data` from `offset`; returns the bytes read, fewer only at the end of the stream. What nobody has
  // written reads as zero.
  virtual size_t read(std::span<std::byte> data, int64_t offset) = 0;

  // Writes at `offset`, or at the end of the stream, where all bytes of one call are together. Parts of
  // memory are written concatenated, in one request. Returns the bytes that are in the stream now: fewer than
  // given, but at least one, if the rest could not be written, and status() has these. Throws if there are
  // none. What was not written makes flush() and sync() fail until it is (container/failed_writes).
  int64_t write(std::span<const std::byte> data, int64_t offset) {
    return write({&data, 1}, offset, WriteAt::offset);
  }
  virtual int64_t write(std::span<const std::span<const std::byte>> parts, int64_t offset, WriteAt how) = 0;
  // Writes all of it, or throws.
  void write_all(std::span<const std::byte> data, int64_t offset) {
    for (int64_t done = 0; !data.empty(); offset += done) {
      done = write(data, offset);
      data = data.subspan(static_cast<size_t>(done));
    }
  }
  Appended append(std::span<const std::byte> data) { return append({&data, 1}); }
  virtual Appended append(std::span<const std::span<const std::byte>> parts) = 0;

  // Makes it so long; new bytes read as zero.
  virtual void truncate(int64_t size) = 0;

  // Room for bytes [offset, offset + length), which then cannot fail for want of it; where `extend`, the
  // stream is at least so long afterwards, else nothing is done beyond its end. Not `hole` and `extend`.
  virtual void allocate(int64_t offset, int64_t length, bool extend, Allocation what) = 0;

  virtual StreamStatus status() = 0;
  virtual void set(const StreamAttributes& attributes) = 0;
  virtual std::string name() = 0;  // as it is now; empty: it has none

  // Where to go on once calls fail with ESTALE, because somebody of this host has renamed it out of the set
  // (ContainerSet::move_out). What was written before is there.
  virtual std::optional<StreamTarget> moved() { return std::nullopt; }

  // The plain file that it has become, absolute; empty: it is a stream of a set.
  virtual std::string plain_path() { return {}; }

  // First offset >= `offset` that is in a piece somebody has written, or in none; the size of the stream ends
  // its last piece. nullopt: there is none (ENXIO of lseek(2)).
  virtual std::optional<int64_t> next_data(int64_t offset) = 0;
  virtual std::optional<int64_t> next_hole(int64_t offset) = 0;

  // What a close(2) does for other hosts: what has been written can be found by whoever opens it from now on.
  // Cheap where there is one cache. To be called when a descriptor that has written is closed, because the
  // destructor cannot say that it has failed. Throws the error of a write that has failed and was not
  // repeated; so does sync().
  virtual void flush() = 0;
  virtual void sync() = 0;  // fsync(2)
};

struct StreamOpening {
  bool create = false;     // make it if it is missing
  bool exclusive = false;  // with create: EEXIST if it is there
  bool truncate = false;   // to nothing
  bool asked = false;      // by status(), just now: what other hosts have closed is not asked again
  bool write = false;      // else write calls may fail with EBADF. Implied by create and truncate
  uint32_t mode = 0644;    // of a new one; umask is the caller's
};

// Where a host keeps what its processes share, and what it is called; the defaults are those of the machine.
// For simulated hosts.
struct ContainerHost {
  std::string name;                           // empty: that of the machine, see container_host_name()
  std::string memory_directory = "/dev/shm";  // on a file system in memory
};

class SHEAF_EXPORT ContainerSet {
 public:
  // Nothing is made before the first stream is: a set of which there is no file is an empty one. `path` is
  // NAME; relative, it counts from the store's directory. `store` outlives the set and its streams. Throws
  // what opening files throws, damaged for containers that are no such, no_space or io if memory cannot be
  // shared. Reads compare checksums, and throw damaged where bytes do not match, unless `checking` is off, or
  // SHEAF_FLAGS has checksums=off; with these flags a container that the set makes has none.
  static std::shared_ptr<ContainerSet> open(Store& store, const std::string& path,
                                            const ContainerHost& host = {}, Checking checking = Checking::on);

  // Registers what all sets do at forks, if that has not been done: whoever holds locks of its own over calls
  // of sets registers its handlers behind it, so that forks take those locks first.
  static void watch_forks();

  virtual ~ContainerSet() = default;  // streams that are open keep what they need

  virtual const std::string& path() const = 0;

  // null: there is no such stream, and `create` is not set.
  virtual std::shared_ptr<ContainerStream> open_stream(std::string_view name,
                                                       const StreamOpening& opening) = 0;

  // The stream of this number (StreamStatus::number), whatever its name is now, also one that was removed and
  // is still held open by a process of this host. Where no process of this host has written to the set, it
  // can only be read. null: there is none.
  virtual std::shared_ptr<ContainerStream> open_number(uint64_t number) = 0;

  // nullopt: there is none.
  virtual std::optional<StreamStatus> status(std::string_view name) = 0;
  // The same, but of other hosts what was known a while ago, without asking what they have closed since: for
  // who would make the stream anew. If others have made it meanwhile, it is one stream with theirs, empty
  // from then on as the clocks of the hosts say.
  virtual std::optional<StreamStatus> known(std::string_view name) { return status(name); }

  // Changes a stream without opening it. False: there is none.
  virtual bool set(std::string_view name, const StreamAttributes& attributes) = 0;
  virtual bool truncate(std::string_view name, int64_t size) = 0;

  // False: there is none.
  virtual bool remove(std::string_view name) = 0;
  // Gives it another name; a stream of that name is removed in the same step. False: there is no stream
  // `from`. keep: where there is one, nothing happens and EEXIST is thrown (RENAME_NOREPLACE).
  virtual bool rename(std::string_view from, std::string_view to, bool keep = false) = 0;

  // Renames a stream to what is not of this set: copy(stream, status) makes that under `target`, of what
  // `stream` gives as the calls of ContainerStream do, and returns its device and number. All others who have
  // the stream open wait meanwhile; from then on their calls fail with ESTALE, and moved() tells where to go
  // on. False: there is none. What it throws, copy() has thrown, or it was thrown because the container
  // cannot tell of it; then the stream stays.
  struct Leaving {
    std::function<size_t(std::span<std::byte> data, int64_t offset)> read;
    std::function<std::optional<int64_t>(int64_t offset)> next_data, next_hole;
  };
  using CopyOut = std::function<std::pair<uint64_t, uint64_t>(const Leaving&, const StreamStatus&)>;
  virtual bool move_out(std::string_view name, const std::string& target, const CopyOut& copy) = 0;

  // Calls visit(name, status) for each stream whose name begins with `prefix`, in no order. Streams that come
  // or go meanwhile may be visited or not. visit may call the set.
  using Visit = std::function<void(std::string_view name, const StreamStatus&)>;
  virtual void list(std::string_view prefix, const Visit& visit) = 0;

  // Looks for what other hosts have closed. open_stream() without create, status() and list() do it by
  // themselves.
  virtual void refresh() = 0;

  // Whether processes of this host other than this one have the set open.
  virtual bool shared() = 0;
};

}  // namespace sheaf
