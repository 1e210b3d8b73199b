// cli/mount/stream_prefetcher: stores small streams in the kernel's page cache before a program reads them.
//
// The kernel reads ahead within a file, but not across files. Without this class, each small file therefore
// costs a request, and the program waits for two switches between processes. Programs such as tar and cp read
// the files of a folder in the order of the streams. During such a sequence, one request makes this class
// store all small streams in the next part of the multifile.
//
// The kernel locks a page until it has the reply to the read of the page, and a store to the page waits for
// the lock. Only one thread stores at a time, so that other threads send such replies. The first stores of a
// sequence are made before the reply to the read that causes them, so that they precede the program. One
// stream in the range is not stored. When the program reads that stream, the next stores are made after the
// reply, while the program reads the stored streams that follow.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "base/non_copyable.hpp"
#include "cli/mount/file_system.hpp"

namespace sheaf::cli {

class StreamPrefetcher : private NonCopyable {
 public:
  // Both must outlive the object.
  StreamPrefetcher(const mount::Tree& tree, fuse_session& session) : tree_(tree), session_(session) {}

  // Must be called before and after the reply to a read at offset 0 of the stream with this number in the
  // tree. If the streams before it were read as well, they store streams after it. A stream that cannot be
  // read is not stored, so that the program's own read returns the error. Thread-safe.
  void before_reply(uint64_t number) noexcept;
  void after_reply(uint64_t number) noexcept;

  // Prevents further stores and waits for the one in progress, which must not be left to wait for replies
  // that no thread sends. May be called in a signal handler, on a thread that handles no requests.
  void stop() noexcept;

 private:
  // A range of streams that programs read in order. All but `window` and the counts are numbers in the tree.
  struct ReadSequence {
    uint64_t last = 0;    // stream that was read last
    uint64_t end = 0;     // end of the streams that were read or stored
    uint64_t next = 0;    // a read of this stream or a later one causes the next stores
    int64_t window = 0;   // bytes to store at once
    int failures = 0;     // consecutive attempts without a store
    int pause = 0;        // reads until the next attempt
    bool is_due = false;  // stores are to be made after a reply
  };

  template <class Body>
  void run(Body&& body) noexcept;
  ReadSequence& sequence_of(uint64_t number);
  void store_after(ReadSequence& sequence);
  bool store(const mount::TreeNode& node, int64_t size);

  const mount::Tree& tree_;
  fuse_session& session_;
  std::atomic<bool> is_busy_{false}, is_stopped_{false};
  std::mutex mutex_;  // guards the following members
  std::array<ReadSequence, 4> sequences_{};
  size_t newest_ = 0;  // index of the sequence that began last
  std::vector<std::byte> buffer_;
};

}  // namespace sheaf::cli
