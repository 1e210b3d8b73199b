// storage/file_traits: what an open file is like, for those who choose between ways of a transfer. What the
// file system is like is in storage/traits/traits.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <shared_mutex>
#include <span>

namespace sheaf {

class File;
enum class FileSystem : uint8_t;

// Transfers past what this host keeps of a file, where hosts do not share a page cache.
class PastCache {
 public:
  // Writes exactly these bytes: what other hosts have written beside them stays. They are at the server after
  // publish() or File::sync() at the latest. False where the file system cannot, or not at such places; some
  // of the bytes may be written then. Throws as File::write_at().
  virtual bool write_past_cache(std::span<const std::byte> data, int64_t offset) = 0;
  // As File::read_at(), but what the server has, as far as the file system lets this be asked for. For who
  // has renewed.
  virtual size_t read_past_cache(std::span<std::byte> data, int64_t offset) = 0;
  // What was written here, past the cache or through it, is at the server, where other hosts find it; maybe
  // not on a disk yet, which is File::sync()'s. Throws as File::sync().
  virtual void publish() = 0;
  // File::renew() of a file that was opened a moment ago, and asks for nothing that the open has told.
  // Returns how many names it has (FileStatus::links).
  virtual int64_t renew_opened() = 0;
  // One task has found for all what the file system is. Until then nothing is taken for granted.
  virtual void know(FileSystem kind) = 0;

 protected:
  ~PastCache() = default;
};

// An open file whose descriptor may go for a while. Not while another call on the file runs.
class RestingFile {
 public:
  // Gives the descriptor back. False: it is still there, and needed (the file is written, or is not open).
  virtual bool rest() = 0;
  // Opens again, after rest(), what was open. Throws what an open throws, and io (ESTALE) if the name is
  // another file's by now; it rests on then.
  virtual void wake() = 0;

 protected:
  ~RestingFile() = default;
};

// A file that tasks of several hosts have open, each host with a page cache of its own. What a task has
// written alone is seen by the others when all have synced and published (MPI 3.1, 13.6.1); the task itself
// sees it at once, in what its host keeps.
class Published {
 public:
  // This task writes alone: others know nothing of it yet.
  virtual void change() = 0;
  virtual bool changed() const = 0;
  // What this task has written is at the server; no more than that (File::sync). Throws as File::sync().
  virtual void publish() = 0;
  // Each transfer is published by itself: the task itself would not see its writes before.
  virtual bool at_once() const = 0;
  // All tasks have published. Whatever this host keeps may be others' by now, and nothing has changed since.
  virtual void published() = 0;
  // Aggregators, of other hosts too, write [begin, end) and have published that; reads ask the server again.
  virtual void forget(int64_t begin, int64_t end) = 0;
  // From now on others may write in windows that were this task's.
  virtual void forget_windows() = 0;
  // This task has written all of [begin, end) alone, and nobody has published other bytes there since.
  virtual bool keeps(int64_t begin, int64_t end) const = 0;
  // Who writes alone shares it meanwhile; who has it alone knows that this task writes nowhere.
  virtual std::shared_mutex& writers() = 0;
  // The same file for who has parts of it alone in collective transfers, and finds there what it wrote.
  virtual File& windows() = 0;

 protected:
  ~Published() = default;
};

// A file that is read, and may have been written anew since it was opened.
class Watch {
 public:
  // For callers that have found something wrong in it. Throws `foreign` if it is not what was opened.
  virtual void require_unchanged() = 0;

 protected:
  ~Watch() = default;
};

struct FileTraits {
  // A request costs a message, whatever is in it: who has many pieces gives them together
  // (File::write_pieces), and nothing is read in order to be written back. So with files on I/O listeners.
  bool dear_requests = false;
  // null: no task of another host has it open, or all hosts share a page cache. Else bytes are brought to the
  // server by sync(), and nothing is read in order to be written back.
  Published* apart = nullptr;
  PastCache* past_cache = nullptr;  // lives as long as the File; null: nothing is between it and its bytes
  RestingFile* resting = nullptr;   // the same; null: it has no descriptor that could go
  Watch* watch = nullptr;           // the same; null: nothing tells whether it is still what was opened
  // Bytes of a regular file when it was opened to be read: so many it has, unless somebody has cut it since,
  // and no message is needed to know. -1: not known.
  int64_t opened_size = -1;

  bool written_as_pieces() const { return dear_requests || apart; }
};

}  // namespace sheaf
