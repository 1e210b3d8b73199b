// exchange/transfer/non_coherent_file: a file that tasks of several hosts have open, each host with its own
// page cache (VisibilityPolicy::has_own_caches() in storage/visibility.hpp).
//
// A page cache writes back whole pages, including stale bytes of other hosts, and continues to serve stale
// pages to reads. This file therefore bypasses the cache and transfers exactly the bytes of the call
// (File::write_directly()). If the file system refuses such a write, this file locks the pages, drops the
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
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "exchange/pieces/constants.hpp"
#include "exchange/transfer/kept_ranges.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "storage/visibility.hpp"

namespace sheaf::exchange {

// Returns true if an aggregator reads windows that it has written from the cache of its host. Each unit then
// has one aggregator. Units that exceed a window (objects of CephFS) are too large for that.
inline bool keeps_windows(const VisibilityPolicy& policy) {
  return policy.keeps_own_writes() && policy.unit <= hosts_window;
}

class NonCoherentFile final : public ForwardingFile {
 public:
  NonCoherentFile(std::shared_ptr<File> inner, const VisibilityPolicy& policy)
      : ForwardingFile(std::move(inner)), policy_(policy), windows_(*this) {}

  // Other tasks see these independent writes after all tasks have synced and published (MPI 3.1, 13.6.1). The
  // writing task sees them at once, in its host's cache.
  void write_at(std::span<const std::byte> data, int64_t offset) override {
    const std::shared_lock writing(writers_);
    changed_ = true;
    write(data, offset, alone_);
  }
  // Takes a single lock for all segments if writes need a lock.
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override {
    const std::shared_lock writing(writers_);
    changed_ = true;
    write(pieces, alone_);
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
  // Do nothing if no bytes were written through this File.
  void sync() override;
  void publish() override;

  // Serves atomic mode: the holder of a lock sees the bytes that earlier holders wrote under their locks.
  // Each transfer publishes before its lock is released, and reports a failure to publish. Throws the errors
  // of File::lock_range() and revalidate().
  RangeLock lock_range(const LockRequest& wanted) override;

  FileTraits traits() override { return {.own_caches = true, .any_thread = inner().traits().any_thread}; }
  FileDescriptor descriptor(DescriptorKind kind) override;

  // Returns true if this task has independent writes that are not announced to the other tasks.
  bool changed() const { return changed_; }
  // Records that all tasks have published. From then on, any state cached on this host may be stale, and no
  // unannounced writes remain.
  void note_all_published() {
    changed_ = false;
    forget_all();
  }
  // Records that aggregators, possibly on other hosts, have written and published [begin, end). Later reads
  // fetch these bytes from the server.
  void forget(int64_t begin, int64_t end) {
    stale_ = true;
    alone_.remove(begin, end);
  }
  // Records that other tasks may now write in windows that this task owned.
  void forget_windows() { windows_.forget(); }
  // Returns true if this task alone has written all of [begin, end) and no other bytes have been published
  // there since.
  bool keeps(int64_t begin, int64_t end) const {
    return held_ == 0 && policy_.keeps_own_writes() && alone_.have(begin, end);
  }
  // Keeps the threads of this task from independent writes while the result is held. May begin between two
  // parts of such a write.
  std::unique_lock<std::shared_mutex> exclude_writers() { return std::unique_lock(writers_); }
  // Returns the view of the file that aggregators use in collective transfers. It reads windows that this
  // task has written from the cache of this host.
  File& windows() { return windows_; }

 private:
  // The view of the file that aggregators use in collective transfers.
  class AggregatorFile final : public ForwardingFile {
   public:
    explicit AggregatorFile(NonCoherentFile& file)
        : ForwardingFile(std::shared_ptr<File>(std::shared_ptr<File>(), &file)), file_(file) {}
    void write_at(std::span<const std::byte> data, int64_t offset) override {
      file_.write(data, offset, kept_);
    }
    void write_pieces(std::span<const Piece<const std::byte>> pieces) override { file_.write(pieces, kept_); }
    size_t read_at(std::span<std::byte> data, int64_t offset) override {
      const bool kept = keeps_windows(file_.policy_) && kept_.have(offset, offset + std::ssize(data));
      return file_.read(data, offset, kept);
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
  void write(std::span<const Piece<const std::byte>> pieces, KeptRanges& kept);
  size_t read(std::span<std::byte> data, int64_t offset, bool kept);
  void revalidate_if_stale();
  template <class Part>
  void while_locked(int64_t offset, int64_t length, Part part);
  enum class Written : uint8_t { synced, published, unpublished };
  template <class Part>
  void ensure_state(Written to, Part part);

  const VisibilityPolicy policy_;
  std::atomic<bool> through_ = true;  // the file system has not refused a write that bypasses the cache
  std::atomic<Written> written_ = Written::synced;  // minimum state of all written bytes
  std::atomic<bool> changed_ = false;  // has independent writes that are not announced to the other tasks
  std::atomic<int> held_ = 0;          // number of ranges that this task has locked
  // Other tasks (or this task, unless the policy keeps own writes) have published since the last
  // revalidation.
  std::atomic<bool> stale_ = false;
  std::shared_mutex writers_;
  std::mutex revalidating_;
  std::mutex publishing_;  // serializes publish and sync
  KeptRanges alone_;
  AggregatorFile windows_;
};

// Target of a collective transfer. Any File converts, except one of hosts with caches of their own.
struct CollectiveFile {
  CollectiveFile(File& same) : file(same) { SHEAF_ASSERT(!same.traits().own_caches); }
  CollectiveFile(NonCoherentFile& own) : file(own), across(&own) {}

  File& file;
  NonCoherentFile* across = nullptr;  // `file` if hosts have caches of their own
  // Writes that tasks hold in memory until a collective call (transfer/held_writes). `drain` is collective,
  // and writes those of all tasks. It must be set if a task of the call holds writes.
  bool holds = false;  // this task holds writes
  std::function<void()> drain = nullptr;
};

}  // namespace sheaf::exchange
