// exchange/transfer/non_coherent_file: a file that tasks of several hosts have open, each host with its own
// page cache.
//
// A page cache writes back whole pages, including stale bytes of other hosts, and continues to serve stale
// pages to reads. This file therefore bypasses the cache and transfers exactly the bytes of the call
// (storage/file_traits.hpp). If the file system refuses such a write, this file locks the pages, drops the
// cache, writes and syncs. While a host holds a lock in a page, Linux writes back the changed bytes of the
// page only. Written bytes are at the server after sync().
//
// A read fetches from the server, and revalidates first if other tasks have published since the last
// revalidation. Only bytes that the task itself has written since then are read from its host's cache. No
// task reads bytes in order to write them back while others may write, so transfers need no other locks.
//
// Any thread may call the functions. Offsets and lengths are in bytes.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "exchange/transfer/kept_ranges.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "storage/filesystem/traits.hpp"

namespace sheaf::exchange {

class NonCoherentFile final : public ForwardingFile, private VisibilityPolicy {
 public:
  // `locks` is the scope of the file system's locks. If `at_once` is true, each transfer is published on its
  // own, and no read is served from the host's cache.
  NonCoherentFile(std::shared_ptr<File> inner, LockScope locks, bool at_once)
      : ForwardingFile(std::move(inner)), locks_(locks), at_once_(at_once), windows_(*this) {}

  void write_at(std::span<const std::byte> data, int64_t offset) override { write(data, offset, alone_); }
  // Takes a single lock for all segments if writes need a lock.
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override {
    write_pieces_by(*this, pieces);
  }
  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  FileStatus status() override;
  void resize(int64_t size) override;
  void revalidate() override {
    forget_all();
    revalidate_if_stale();
  }
  // Publishes, then closes the file even if publishing fails.
  void close() override;
  // Does nothing if no bytes were written through this File.
  void sync() override;
  void publish() override;

  // Serves atomic mode: the holder of a lock sees the bytes that earlier holders wrote under their locks.
  // Each transfer publishes before its lock is released, and reports a failure to publish. Throws the errors
  // of File::lock_range() and revalidate().
  RangeLock lock_range(const LockRequest& wanted) override;

  FileTraits traits() override { return {.visibility = this}; }
  FileDescriptor descriptor(DescriptorKind kind) override;

 private:
  void change() override { changed_ = true; }
  bool changed() const override { return changed_; }
  void note_all_published() override {
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

  // The view of the file that aggregators use in collective transfers.
  class AggregatorFile final : public ForwardingFile {
   public:
    explicit AggregatorFile(NonCoherentFile& file)
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
    NonCoherentFile& file_;
    KeptRanges kept_;
  };

  void forget_all() {
    forget(0, KeptRanges::everywhere);
    forget_windows();
  }
  void write(std::span<const std::byte> data, int64_t offset, KeptRanges& kept);
  void write_pieces_by(File& file, std::span<const Piece<const std::byte>> pieces);
  size_t read(std::span<std::byte> data, int64_t offset, bool kept);
  void revalidate_if_stale();
  template <class Part>
  void while_locked(int64_t offset, int64_t length, Part part);
  enum class Written : uint8_t { synced, note_all_published, unpublished };
  template <class Part>
  void ensure_state(Written to, Part part);

  const LockScope locks_;
  const bool at_once_;
  std::atomic<bool> through_ = true;  // the file system has not refused a write that bypasses the cache
  std::atomic<Written> written_ = Written::synced;  // minimum state of all written bytes
  std::atomic<bool> changed_ = false;  // has independent writes that are not announced to the other tasks
  std::atomic<int> held_ = 0;          // number of ranges that this task has locked
  // Other tasks (or, with `at_once_`, this task) have published since the last revalidation.
  std::atomic<bool> stale_ = false;
  std::shared_mutex writers_;
  std::mutex revalidating_;
  std::mutex publishing_;  // serializes publish and sync
  KeptRanges alone_;
  AggregatorFile windows_;
};

// publish_writes() publishes the writes of this task. revalidate_reads() revalidates: later reads return
// bytes that were at the server at the time of the call. Both affect only files of several hosts.
inline void publish_writes(File& file) {
  if (VisibilityPolicy* const visibility = file.traits().visibility) visibility->publish();
}
inline void revalidate_reads(File& file) {
  if (file.traits().visibility) file.revalidate();
}

}  // namespace sheaf::exchange
