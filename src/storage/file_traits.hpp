// storage/file_traits: properties of an open file, for code that chooses how to transfer. Properties of the
// file system are in storage/filesystem/traits.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <shared_mutex>
#include <span>

namespace sheaf {

class File;
enum class FileSystem : uint8_t;

// Direct I/O: transfers that bypass this host's cache of a file, where hosts do not share a page cache.
class DirectIo {
 public:
  // Writes exactly these bytes; bytes that other hosts have written next to them stay. The bytes reach the
  // server by publish() or File::sync() at the latest. Returns false if the file system does not support such
  // a write, or not for this offset and length; some of the bytes may have been written even then. Throws the
  // errors of
  // File::write_at().
  virtual bool write_directly(std::span<const std::byte> data, int64_t offset) = 0;
  // Like File::read_at(), but reads the server's bytes, as far as the file system allows. Requires that the
  // caller has revalidated.
  virtual size_t read_directly(std::span<std::byte> data, int64_t offset) = 0;
  // Publishes all bytes written on this host, directly or through the cache. The bytes need not be on a
  // device yet; File::sync() ensures that. Throws the errors of File::sync().
  virtual void publish() = 0;
  // Like File::revalidate() for a file that was just opened; does not query again what the open has returned.
  // Returns the number of names (FileStatus::links).
  virtual int64_t revalidate_opened() = 0;
  // Sets the kind of file system that one task has determined for all tasks. Until this call, the file
  // determines the kind itself when it needs it.
  virtual void know(FileSystem kind) = 0;

 protected:
  ~DirectIo() = default;
};

// An open file with a descriptor that can be evicted. Calls must not run concurrently with other calls on the
// file.
class EvictableFile {
 public:
  // Evicts the descriptor. Returns false if the file still needs it because it is writable or not open.
  virtual bool evict() = 0;
  // Reopens an evicted file. Throws the errors of an open, and io (ESTALE) if the name now belongs to another
  // file; the file stays evicted then.
  virtual void reopen() = 0;

 protected:
  ~EvictableFile() = default;
};

// Visibility policy of a file that tasks of several hosts have open, each host with its own page cache. Other
// tasks see independent writes after all tasks have synced and published (MPI 3.1, 13.6.1). The writing task
// sees them at once, in its host's cache.
class VisibilityPolicy {
 public:
  // Records that this task has independent writes that are not announced to the other tasks.
  virtual void change() = 0;
  virtual bool changed() const = 0;
  // Publishes the writes of this task; does not sync them to the device (File::sync). Throws the errors of
  // File::sync().
  virtual void publish() = 0;
  // Returns true if each transfer is published on its own, because on this file system the task does not see
  // its own writes until they are published.
  virtual bool at_once() const = 0;
  // Records that all tasks have published. From then on, any state cached on this host may be stale, and no
  // unannounced writes remain.
  virtual void note_all_published() = 0;
  // Records that aggregators, possibly on other hosts, have written and published [begin, end). Later reads
  // fetch these bytes from the server.
  virtual void forget(int64_t begin, int64_t end) = 0;
  // Records that other tasks may now write in windows that this task owned.
  virtual void forget_windows() = 0;
  // Returns true if this task alone has written all of [begin, end) and no other bytes have been published
  // there since.
  virtual bool keeps(int64_t begin, int64_t end) const = 0;
  // Returns the mutex that independent writers of this task hold shared. Its exclusive holder knows that no
  // thread of this task is writing.
  virtual std::shared_mutex& writers() = 0;
  // Returns the view of the file that aggregators use in collective transfers. It reads windows that this
  // task has written from the cache of this host.
  virtual File& windows() = 0;

 protected:
  ~VisibilityPolicy() = default;
};

// A file opened for reading that may have been rewritten since.
class Watch {
 public:
  // Throws `foreign` if the file has been rewritten since it was opened. Called after reading data that are
  // wrong.
  virtual void require_unchanged() = 0;

 protected:
  ~Watch() = default;
};

struct FileTraits {
  // True for files on I/O listeners: each request costs a message, whatever its size. Callers then pass many
  // segments together (File::write_pieces), and no write reads bytes in order to write them back.
  bool dear_requests = false;
  // Null if no task of another host has the file open, or all hosts share a page cache. Otherwise sync()
  // publishes, and no write reads bytes in order to write them back.
  VisibilityPolicy* visibility = nullptr;
  DirectIo* direct_io = nullptr;       // lives as long as the File; null: no cache to bypass
  EvictableFile* evictable = nullptr;  // likewise; null: no evictable descriptor
  Watch* watch = nullptr;              // likewise; null: rewriting cannot be detected
  // Size in bytes of a regular file when it was opened for reading. Needs no message; invalid if the file has
  // been truncated since. -1: unknown.
  int64_t opened_size = -1;

  bool written_as_pieces() const { return dear_requests || visibility; }
};

}  // namespace sheaf
