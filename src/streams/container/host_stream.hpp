// streams/container/host_stream: an open stream of a set on a host that has a container. All processes of the
// host share it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

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

}  // namespace sheaf::streams
