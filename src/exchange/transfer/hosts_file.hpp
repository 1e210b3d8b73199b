// exchange/transfer/hosts_file: a file that tasks of several hosts have open, each host with a page cache of
// its own.
//
// Caches write back whole pages, with what other hosts had in them before, and go on to show what they have.
// So this file reads and writes past the cache: exactly the bytes of the call (File::write_through), or,
// where the file system refuses such, under a lock, with the cache forgotten before and synced afterwards;
// Linux writes back no other bytes of a page in which its host holds a lock. What was written is at the
// server after bring(), and who has called renew() reads what was there by then. Nobody reads bytes in order
// to write them back here, so that transfers need no other locks.
//
// Threads: any. Offsets and lengths are in bytes.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "comm/agree.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "storage/traits/traits.hpp"

namespace sheaf::exchange {

class HostsFile final : public ForwardingFile {
 public:
  // Pages of a host have so many bytes at most; ranges that are locked are whole ones.
  static constexpr int64_t page = 64 << 10;

  // `locks`: whom those of the file system keep out.
  HostsFile(std::shared_ptr<File> inner, LockScope locks) : ForwardingFile(std::move(inner)), locks_(locks) {}

  void write_at(std::span<const std::byte> data, int64_t offset) override;
  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  void resize(int64_t size) override;
  void allocate(int64_t size) override;
  void sync() override;

  // What was written through this File is at the server.
  void bring();

  // For atomic mode: who has the lock sees what others wrote under theirs, and the other way round. Throws
  // what File::lock() throws, and whatever renew() does.
  LockResult lock(int64_t offset, int64_t length, bool exclusive, Barred barred) override;
  void unlock(int64_t offset, int64_t length) override;
  void expect_lockers(int64_t tasks) override { inner().expect_lockers(tasks); }

  // Carries out `part`, which writes in the range: where writes need a lock, with one for all of them.
  template <class Part>
  void while_written(int64_t offset, int64_t length, Part part) {
    const bool held = begin_writes(offset, length);
    const auto problem = attempt(part);
    end_writes(offset, length, held, problem);
  }

 private:
  bool begin_writes(int64_t offset, int64_t length);
  void end_writes(int64_t offset, int64_t length, bool held, const std::optional<Error>& problem);
  bool take_lock(int64_t offset, int64_t length);

  const LockScope locks_;
  std::atomic<bool> through_ = true;    // writes past the cache have not been refused yet
  std::atomic<bool> unsynced_ = false;  // something was written
  std::atomic<int> held_ = 0;           // ranges that this task has locked
};

// For files of several hosts; nothing for others. What this task has written is at the server; what it reads
// from now on is what has been there.
void to_server(File& file);
void from_server(File& file);

// Carries out `part`, which writes in the range, for any file.
template <class Part>
void while_written(File& file, int64_t offset, int64_t length, Part part) {
  auto* const hosts = dynamic_cast<HostsFile*>(&file);
  hosts ? hosts->while_written(offset, length, part) : part();
}

}  // namespace sheaf::exchange
