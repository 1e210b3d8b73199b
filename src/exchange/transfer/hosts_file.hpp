// exchange/transfer/hosts_file: a file that tasks of several hosts have open, each host with a page cache of
// its own.
//
// Caches write back whole pages, with what other hosts had in them before, and go on to show what they have.
// So this file reads and writes past the cache: exactly the bytes of the call (storage/file_traits.hpp), or,
// where the file system refuses such, under a lock, with the cache forgotten before and synced afterwards;
// Linux writes back no other bytes of a page in which its host holds a lock. What was written is at the
// server after sync(). A read asks the server, and renews before if others have published since it did so
// last; only what the task itself has written since then comes from what its host keeps. Nobody reads bytes
// in order to write them back while others may write, so that transfers need no other locks.
//
// Threads: any. Offsets and lengths are in bytes.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "exchange/transfer/kept_ranges.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "storage/traits/traits.hpp"

namespace sheaf::exchange {

class HostsFile final : public ForwardingFile, private Published {
 public:
  // `locks`: whom those of the file system keep out.
  // `at_once`: each transfer is published by itself, and nothing is read from what the host keeps.
  HostsFile(std::shared_ptr<File> inner, LockScope locks, bool at_once)
      : ForwardingFile(std::move(inner)), locks_(locks), at_once_(at_once), windows_(*this) {}

  void write_at(std::span<const std::byte> data, int64_t offset) override { write(data, offset, alone_); }
  // Where writes need a lock, with one for all of them.
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override {
    write_pieces_by(*this, pieces);
  }
  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  FileStatus status() override;
  void resize(int64_t size) override;
  void renew() override {
    forget_all();
    look_anew();
  }
  // Publishes before; the file is closed also if that fails.
  void close() override;
  // Only if something was written through this File.
  void sync() override;
  void publish() override;

  // For atomic mode: who has the lock sees what others wrote under theirs, and the other way round. Throws
  // what File::lock_range() throws, and whatever renew() does. What could not be brought to the server is
  // told by the transfer, which brings it before the lock ends.
  RangeLock lock_range(const LockRequest& wanted) override;

  FileTraits traits() override { return {.apart = this}; }
  FileDescriptor descriptor(Whose whose) override;

 private:
  void change() override { changed_ = true; }
  bool changed() const override { return changed_; }
  void published() override {
    changed_ = false;
    forget_all();
  }
  void forget(int64_t begin, int64_t end) override {
    stale_ = true;
    alone_.remove(begin, end);
  }
  void forget_windows() override { windows_.forget(); }
  bool keeps(int64_t begin, int64_t end) const override {
    return held_ == 0 && !at_once_ && alone_.have(begin, end);
  }
  bool at_once() const override { return at_once_; }
  std::shared_mutex& writers() override { return writers_; }
  File& windows() override { return windows_; }

  // What aggregators have of the file.
  class Windows final : public ForwardingFile {
   public:
    explicit Windows(HostsFile& file)
        : ForwardingFile(std::shared_ptr<File>(std::shared_ptr<File>(), &file)), file_(file) {}
    void write_at(std::span<const std::byte> data, int64_t offset) override {
      file_.write(data, offset, kept_);
    }
    void write_pieces(std::span<const Piece<const std::byte>> pieces) override {
      file_.write_pieces_by(*this, pieces);
    }
    size_t read_at(std::span<std::byte> data, int64_t offset) override {
      return file_.read(data, offset, !file_.at_once_ && kept_.have(offset, offset + std::ssize(data)));
    }
    FileTraits traits() override { return file_.traits(); }
    void forget() { kept_.remove(0, KeptRanges::everywhere); }

   private:
    HostsFile& file_;
    KeptRanges kept_;
  };

  void forget_all() {
    forget(0, KeptRanges::everywhere);
    forget_windows();
  }
  void write(std::span<const std::byte> data, int64_t offset, KeptRanges& kept);
  void write_pieces_by(File& file, std::span<const Piece<const std::byte>> pieces);
  size_t read(std::span<std::byte> data, int64_t offset, bool kept);
  void look_anew();
  template <class Part>
  void while_locked(int64_t offset, int64_t length, Part part);
  enum class Written : uint8_t { synced, published, here };
  template <class Part>
  void bring(Written to, Part part);

  const LockScope locks_;
  const bool at_once_;
  std::atomic<bool> through_ = true;                // writes past the cache have not been refused yet
  std::atomic<Written> written_ = Written::synced;  // where all that was written is at the least
  std::atomic<bool> changed_ = false;               // the same, alone, and the others have not been told
  std::atomic<int> held_ = 0;                       // ranges that this task has locked
  // Others have published since the file was renewed; `at_once_`: or this task.
  std::atomic<bool> stale_ = false;
  std::shared_mutex writers_;
  std::mutex renewing_;
  std::mutex bringing_;  // to the server
  KeptRanges alone_;
  Windows windows_;
};

// For files of several hosts; nothing for others. What this task has written is at the server; what it reads
// from now on is what has been there.
inline void to_server(File& file) {
  if (Published* const apart = file.traits().apart) apart->publish();
}
inline void from_server(File& file) {
  if (file.traits().apart) file.renew();
}

}  // namespace sheaf::exchange
