// streams/container/host_stream: an open stream of a set. HostStream is a stream that all processes of the
// host share, because the host has a container. ForeignStream is a stream that is only read here.
#pragma once

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "streams/container/container_set.hpp"
#include "streams/container/failed_writes.hpp"
#include "streams/container/host_container.hpp"
#include "streams/container/stream_pieces.hpp"

namespace sheaf::streams {

// Returns the status of a shared stream. Any thread may call it without a lock.
StreamStatus status_of(SharedStream& stream);
// Returns StreamStatus::number of the stream with this key.
uint64_t number_of(const format::StreamKey& key);

void require_name(std::string_view name, const std::string& set);

class HostStream final : public ContainerStream {
 public:
  // Opens the stream `at`. The caller holds the lock of names.
  HostStream(std::shared_ptr<HostContainer> container, SharedPlace at, bool writable);
  ~HostStream() override;

  // Marks the stream as new, so that the next flush() announces it.
  void note_change() { has_written_ = true; }

  size_t read(std::span<std::byte> data, int64_t offset) override;
  int64_t write(std::span<const std::span<const std::byte>> parts, int64_t offset, WriteAt how) override;
  Appended append(std::span<const std::span<const std::byte>> parts) override;
  void truncate(int64_t size) override;
  void allocate(int64_t offset, int64_t length, bool extend, Allocation what) override;
  StreamStatus status() override;
  void set(const StreamAttributes& attributes) override;
  std::string name() override;
  std::optional<StreamTarget> moved() override;
  std::optional<int64_t> next_data(int64_t offset) override;
  std::optional<int64_t> next_hole(int64_t offset) override;
  void flush() override;
  void sync() override;

  // Copies the stream to `target` with `copy`, records the move in the container and redirects the stream to
  // `target`, as ContainerSet::move_out() describes. The caller then removes the name from the set. Returns
  // false if another process moved the stream first.
  bool move_out(const std::string& target, const ContainerSet::CopyOut& copy);

 private:
  // Reads as read() does. Throws SumMismatch without the name of the stream; the caller adds it.
  size_t read_from(std::span<std::byte> data, int64_t offset, bool locked);
  void require_here() const;
  void require_writable() const;
  void require_range(int64_t offset, int64_t bytes) const;
  void record_changes();
  void refuse_failed();

  // The caller holds the lock of the stream:
  void look();
  int64_t write_locked(WriteParts parts, int64_t offset, WriteAt how);
  std::optional<int64_t> next(Space what, int64_t offset);
  void tell_failures();
  void record_failure(int64_t failure, const FailedStreamWrites& failed);

  const std::shared_ptr<HostContainer> container_;
  ContainerIndex& index_;
  const SharedPlace at_;
  SharedStream& stream_;
  const bool writable_;
  HostContainer::Opens::iterator noted_;
  StreamPieces pieces_;  // guarded by the lock of the stream, as the following three
  FailedStreamWrites failed_;
  int64_t told_ = 0;                       // time of the record that reports the first failure; 0 if none
  int64_t told_offset_ = 0;                // offset in that record
  std::atomic<bool> has_failed_ = false;   // failed_ is not empty
  std::atomic<bool> has_written_ = false;  // since the last flush
};

inline StreamStatus status_of(const NamedStream& stream) {
  return {number_of(stream.key), stream.size, stream.modified(), stream.changed, stream.mode, true};
}

// A stream of another host or of the multifile, opened for reading on a host that has not written to the set.
// If a process of this host starts to write to the set, the stream switches to the view that the processes of
// this host share.
class ForeignStream final : public ContainerStream {
 public:
  // Function that returns this stream as the processes of this host share it. Returns nullopt if they do not
  // share the set, and null if the stream has lost its name.
  using Ask = std::function<std::optional<std::shared_ptr<ContainerStream>>()>;

  ForeignStream(std::shared_ptr<const NamedStreams> set, const NamedStream& stream, Ask ask)
      : set_(std::move(set)), stream_(stream), ask_(std::move(ask)) {}
  ForeignStream(const ForeignStream&) = delete;
  ForeignStream& operator=(const ForeignStream&) = delete;
  ~ForeignStream() override { delete shared_.load(); }

  size_t read(std::span<std::byte> data, int64_t offset) override {
    if (ContainerStream* const now = shared()) return now->read(data, offset);
    if (offset < 0) throw os_error("there is no such offset in the stream", stream_.name, EINVAL);
    return set_->read_pieces(stream_, data, offset);
  }
  int64_t write(std::span<const std::span<const std::byte>>, int64_t, WriteAt) override { refuse(); }
  Appended append(std::span<const std::span<const std::byte>>) override { refuse(); }
  void truncate(int64_t) override { refuse(); }
  void allocate(int64_t, int64_t, bool, Allocation) override { refuse(); }
  StreamStatus status() override {
    if (ContainerStream* const now = shared()) return now->status();
    StreamStatus status = status_of(stream_);
    status.linked = shared_.load() == nullptr;
    return status;
  }
  void set(const StreamAttributes&) override { refuse(); }
  std::string name() override {
    if (ContainerStream* const now = shared()) return now->name();
    return shared_.load() == nullptr ? stream_.name : std::string();
  }
  std::optional<StreamTarget> moved() override {
    ContainerStream* const now = shared();
    return now ? now->moved() : std::nullopt;
  }
  std::optional<int64_t> next_data(int64_t offset) override { return next(Space::data, offset); }
  std::optional<int64_t> next_hole(int64_t offset) override { return next(Space::hole, offset); }
  void flush() override {}
  void sync() override {}

 private:
  [[noreturn]] void refuse() const {
    throw os_error("not open for writing: the stream", stream_.name, EBADF);
  }
  // Returns the shared stream; null if there is none. Uses no lock, because a fork may happen at any time.
  ContainerStream* shared() {
    if (const ContainerStreamRef* const known = shared_.load()) return known->get();
    std::optional<ContainerStreamRef> found;
    try {
      found = ask_();
    } catch (const Error&) {  // continue with the content known at open
    }
    if (!found) return nullptr;
    auto made = std::make_unique<const ContainerStreamRef>(std::move(*found));
    const ContainerStreamRef* known = nullptr;
    return shared_.compare_exchange_strong(known, made.get()) ? made.release()->get() : known->get();
  }
  std::optional<int64_t> next(Space what, int64_t offset) {
    if (ContainerStream* const now = shared())
      return what == Space::data ? now->next_data(offset) : now->next_hole(offset);
    return next_in(stream_.pieces, stream_.size, what, offset);
  }

  using ContainerStreamRef = std::shared_ptr<ContainerStream>;
  const std::shared_ptr<const NamedStreams> set_;
  const NamedStream& stream_;
  const Ask ask_;
  std::atomic<const ContainerStreamRef*> shared_{nullptr};
};

}  // namespace sheaf::streams
