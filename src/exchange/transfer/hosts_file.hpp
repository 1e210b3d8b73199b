// exchange/transfer/hosts_file: a file that tasks of several hosts have open, each host with a page cache of
// its own.
//
// Caches write back whole pages, with what other hosts had in them before, and go on to show what they have.
// So this file reads and writes past the cache: exactly the bytes of the call (storage/file_traits.hpp), or,
// where the file system refuses such, under a lock, with the cache forgotten before and synced afterwards;
// Linux writes back no other bytes of a page in which its host holds a lock. What was written is at the
// server after sync(), and who has called renew() reads what was there by then. Nobody reads bytes in order
// to write them back here, so that transfers need no other locks.
//
// Threads: any. Offsets and lengths are in bytes.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "storage/decorators/forwarding_file.hpp"
#include "storage/traits/traits.hpp"

namespace sheaf::exchange {

class HostsFile final : public ForwardingFile {
 public:
  // `locks`: whom those of the file system keep out.
  HostsFile(std::shared_ptr<File> inner, LockScope locks) : ForwardingFile(std::move(inner)), locks_(locks) {}

  void write_at(std::span<const std::byte> data, int64_t offset) override;
  // Where writes need a lock, with one for all of them.
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override;
  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  void resize(int64_t size) override;
  // Only if something was written through this File.
  void sync() override;

  // For atomic mode: who has the lock sees what others wrote under theirs, and the other way round. Throws
  // what File::lock_range() throws, and whatever renew() does. What could not be brought to the server is
  // told by the transfer, which brings it before the lock ends.
  RangeLock lock_range(const LockRequest& wanted) override;

  FileTraits traits() override { return {.apart = true}; }
  FileDescriptor descriptor(Whose whose) override;

 private:
  template <class Part>
  void while_locked(int64_t offset, int64_t length, Part part);
  RangeLock try_to_lock(int64_t offset, int64_t length);

  const LockScope locks_;
  std::atomic<bool> through_ = true;    // writes past the cache have not been refused yet
  std::atomic<bool> unsynced_ = false;  // something was written
  std::atomic<int> held_ = 0;           // ranges that this task has locked
};

// For files of several hosts; nothing for others. What this task has written is at the server; what it reads
// from now on is what has been there.
inline void to_server(File& file) {
  if (file.traits().apart) file.sync();
}
inline void from_server(File& file) {
  if (file.traits().apart) file.renew();
}

}  // namespace sheaf::exchange
