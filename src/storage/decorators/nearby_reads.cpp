#include "storage/decorators/nearby_reads.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/decorators/forwarding_file.hpp"

namespace sheaf {

namespace {

constexpr int64_t max_read = 64 << 10;  // larger reads are efficient on their own
// Maximum distance between the end of a read and the next one in the same lane. Reading ahead over larger
// ones would read mostly bytes between the streams.
constexpr int64_t max_gap = 64 << 10;
constexpr int64_t first_size = 64 << 10, max_size = 1 << 20;  // bytes read ahead; each time twice as many

class NearbyFile final : public ForwardingFile {
 public:
  NearbyFile(std::shared_ptr<File> inner, std::shared_ptr<NearbyReads> reads)
      : ForwardingFile(std::move(inner)), reads_(std::move(reads)) {}
  ~NearbyFile() override { reads_->discard(inner()); }

  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    return reads_->read(inner(), data, offset);
  }
  void revalidate() override {
    reads_->discard(inner());
    inner().revalidate();
  }

 private:
  const std::shared_ptr<NearbyReads> reads_;
};

}  // namespace

std::shared_ptr<File> NearbyReads::over(std::shared_ptr<File> file) {
  return std::make_shared<NearbyFile>(std::move(file), shared_from_this());
}

size_t NearbyReads::read(File& file, std::span<std::byte> data, int64_t offset) {
  const int64_t length = std::ssize(data);
  if (length > max_read) return file.read_at(data, offset);
  LaneAnswer answer = look_up(file, offset, length);
  if (!answer.bytes) {
    if (answer.ahead <= length) return file.read_at(data, offset);
    std::vector<std::byte> bytes(static_cast<size_t>(answer.ahead));
    bytes.resize(file.read_at(bytes, offset));
    answer = {std::make_shared<const std::vector<std::byte>>(std::move(bytes)), 0, 0};
    keep(file, offset, offset + length, answer.bytes);
  }
  const auto found = std::span(*answer.bytes).subspan(answer.at);
  const size_t count = std::min(found.size(), data.size());
  std::memcpy(data.data(), found.data(), count);
  return count;
}

// Looks for a lane with all bytes of a read, and notes the read in the lane that it continues.
NearbyReads::LaneAnswer NearbyReads::look_up(const File& file, int64_t offset, int64_t length) {
  const std::lock_guard lock(mutex_);
  ReadLane* oldest = lanes_.data();
  for (ReadLane& lane : lanes_) {
    if (lane.used < oldest->used) oldest = &lane;
    if (lane.file != &file) continue;
    const int64_t end = lane.begin + (lane.bytes ? std::ssize(*lane.bytes) : 0);
    const bool has_all = lane.begin <= offset && offset + length <= end;
    const bool continues = lane.read_to <= offset && offset - lane.read_to <= max_gap;
    if (!has_all && !continues) continue;
    lane.used = ++clock_;
    lane.read_to = offset + length;
    if (has_all) return {lane.bytes, static_cast<size_t>(offset - lane.begin), 0};
    return {nullptr, 0, std::exchange(lane.next_size, std::min(2 * lane.next_size, max_size))};
  }
  *oldest = {&file, offset + length, 0, nullptr, first_size, ++clock_};
  return {};
}

// Gives the bytes from `offset` to the lane that has noted a read from `offset` to `end`, unless other
// threads have continued or replaced it.
void NearbyReads::keep(const File& file, int64_t offset, int64_t end, LaneBytes bytes) {
  const std::lock_guard lock(mutex_);
  for (ReadLane& lane : lanes_)
    if (lane.file == &file && lane.read_to == end) {
      lane.begin = offset;
      lane.bytes = std::move(bytes);
      return;
    }
}

void NearbyReads::discard(const File& file) {
  const std::lock_guard lock(mutex_);
  for (ReadLane& lane : lanes_)
    if (lane.file == &file) lane = {};
}

}  // namespace sheaf
