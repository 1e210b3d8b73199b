// storage/file_traits: what an open file is like, for those who choose between ways of a transfer. What the
// file system is like is in storage/traits/traits.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sheaf {

// Transfers past what this host keeps of a file, where hosts do not share a page cache.
class PastCache {
 public:
  // Writes exactly these bytes: what other hosts have written beside them stays. They are at the server after
  // a File::sync() at the latest. False where the file system cannot, or not at such places; some of the
  // bytes may be written then. Throws as File::write_at().
  virtual bool write_past_cache(std::span<const std::byte> data, int64_t offset) = 0;
  // As File::read_at(), but what the server has, as far as the file system lets this be asked for. For who
  // has renewed.
  virtual size_t read_past_cache(std::span<std::byte> data, int64_t offset) = 0;

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

struct FileTraits {
  // A request costs a message, whatever is in it: who has many pieces gives them together
  // (File::write_pieces), and nothing is read in order to be written back. So with files on I/O listeners.
  bool dear_requests = false;
  // Tasks of several hosts have it open, each host with a page cache of its own: bytes are brought to the
  // server by sync(), and asked for there after renew(). Nothing is read in order to be written back.
  bool apart = false;
  PastCache* past_cache = nullptr;  // lives as long as the File; null: nothing is between it and its bytes
  RestingFile* resting = nullptr;   // the same; null: it has no descriptor that could go

  bool written_as_pieces() const { return dear_requests || apart; }
};

}  // namespace sheaf
