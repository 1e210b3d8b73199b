// streams/container/foreign_stream: a stream of another host or of the multifile, opened for reading on a
// host that has not written to the set. If a process of this host starts to write to the set, the stream
// switches to the view that the processes of this host share.
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
#include "streams/container/host_stream.hpp"
#include "streams/container/replay.hpp"

namespace sheaf::streams {

inline StreamStatus status_of(const ReplayedStream& stream) {
  return {number_of(stream.key), stream.size, stream.modified(), stream.changed, stream.mode, true};
}

class ForeignStream final : public ContainerStream {
 public:
  // Function that returns this stream as the processes of this host share it. Returns nullopt if they do not
  // share the set, and null if the stream has lost its name.
  using Ask = std::function<std::optional<std::shared_ptr<ContainerStream>>()>;

  ForeignStream(std::shared_ptr<const SetContents> set, const ReplayedStream& stream, Ask ask)
      : set_(std::move(set)), stream_(stream), ask_(std::move(ask)) {}
  ForeignStream(const ForeignStream&) = delete;
  ForeignStream& operator=(const ForeignStream&) = delete;
  ~ForeignStream() override { delete shared_.load(); }

  size_t read(std::span<std::byte> data, int64_t offset) override {
    if (ContainerStream* const now = shared()) return now->read(data, offset);
    if (offset < 0) throw os_error("there is no such offset in the stream", stream_.name, EINVAL);
    return read_pieces(set_->sources, stream_, data, offset);
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
  std::optional<int64_t> next_data(int64_t offset) override { return next(offset, true); }
  std::optional<int64_t> next_hole(int64_t offset) override { return next(offset, false); }
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
  std::optional<int64_t> next(int64_t offset, bool data) {
    if (ContainerStream* const now = shared()) return data ? now->next_data(offset) : now->next_hole(offset);
    if (offset < 0 || offset >= stream_.size) return std::nullopt;
    while (offset < stream_.size) {
      const layout::PieceMap::PieceOrGap at = stream_.pieces.at(offset);
      if (at.found == data) return offset;
      offset = at.piece.length > stream_.size - offset ? stream_.size : offset + at.piece.length;
    }
    return data ? std::nullopt : std::optional(stream_.size);
  }

  using ContainerStreamRef = std::shared_ptr<ContainerStream>;
  const std::shared_ptr<const SetContents> set_;
  const ReplayedStream& stream_;
  const Ask ask_;
  std::atomic<const ContainerStreamRef*> shared_{nullptr};
};

}  // namespace sheaf::streams
