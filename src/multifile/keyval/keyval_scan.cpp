#include "multifile/keyval/keyval_scan.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"

namespace sheaf::multifile {

void KeyvalScanner::damaged(const std::string& finding) const {
  throw Error(Code::damaged,
              "'" + path_ + "': task " + std::to_string(task_) + ", key-value record at byte " +
                  std::to_string(record_) + " of its stream: " + finding,
              0, static_cast<int>(task_));
}

std::optional<KeyvalRecord> KeyvalScanner::next_across_reads() {
  skip(left_);
  record_ = at_;
  std::array<std::byte, header_bytes> head;
  const size_t got = stream_.read(head);
  if (got == 0) return std::nullopt;
  if (got < head.size()) damaged("the stream ends inside the header of the record");

  KeyvalRecord record;
  record.key = load<uint64_t>(head.data(), order_);
  record.position = record_ + static_cast<int64_t>(head.size());
  const auto length = load<uint64_t>(head.data() + 8, order_);
  const auto wanted = static_cast<int64_t>(std::min<uint64_t>(length, INT64_MAX));
  const int64_t there = stream_.available(wanted);
  if (there < wanted || static_cast<uint64_t>(wanted) < length)
    damaged("the value is said to have " + std::to_string(length) + " bytes, but only " +
            std::to_string(there) + " are left");
  at_ = record.position;
  record.length = left_ = wanted;
  return record;
}

size_t KeyvalScanner::read_across_reads(std::span<std::byte> out) {
  out = out.first(static_cast<size_t>(std::min(static_cast<int64_t>(out.size()), left_)));
  const size_t got = stream_.read(out);
  at_ += static_cast<int64_t>(got);
  left_ -= static_cast<int64_t>(got);
  return got;
}

void KeyvalScanner::skip(int64_t bytes) {
  left_ -= bytes;
  at_ += bytes;
  while (bytes > 0) {
    if (stream_.at_end()) return;  // next() has checked that the bytes exist
    const int64_t step = std::min(bytes, stream_.available_in_block());
    const StreamPosition at = stream_.position();
    stream_.seek_block(at.block, at.offset + step);
    bytes -= step;
  }
}

}  // namespace sheaf::multifile
