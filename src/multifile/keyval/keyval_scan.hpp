// multifile/keyval/keyval_scan: reads the key-value records of one task in write order (docs/format.md,
// section "Key-value records").
//
// The scanner reads all record headers, but values only on request. It takes no memory besides the read-ahead
// buffer of the stream.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_order.hpp"
#include "multifile/keyval/constants.hpp"
#include "multifile/stream/read_stream.hpp"

namespace sheaf::multifile {

struct KeyvalRecord {
  uint64_t key = 0;
  int64_t length = 0;    // bytes of the value
  int64_t position = 0;  // position of the value in the task's stream
};

class KeyvalScanner {
 public:
  // `stream` must be at the first record, must outlive the scanner, and must be moved by the scanner only.
  // `metadata_order` is the byte order of the physical file's metadata. Error messages contain `path` and
  // `task`.
  KeyvalScanner(ReadStream& stream, ByteOrder metadata_order, std::string_view path, int64_t task)
      : stream_(stream), order_(metadata_order), path_(path), task_(task) {}

  // Continues at the position of `other`, through a different stream on the same task.
  KeyvalScanner(const KeyvalScanner& other, ReadStream& stream)
      : stream_(stream),
        order_(other.order_),
        path_(other.path_),
        task_(other.task_),
        record_(other.record_),
        at_(other.at_),
        left_(other.left_) {}

  // Skips the unread rest of the current value and returns the next record. Returns nothing at the end of the
  // stream. Throws `damaged`, naming task and offset, if the stream ends inside a record.
  std::optional<KeyvalRecord> next() {
    const std::span<const std::byte> ahead = stream_.buffer().ahead();
    if (const auto left = static_cast<size_t>(left_); left + header_bytes <= ahead.size()) [[likely]] {
      const std::byte* const head = ahead.data() + left;
      const auto length = load<uint64_t>(head + 8, order_);
      if (length <= ahead.size() - left - header_bytes) [[likely]] {
        stream_.buffer().skip(left + header_bytes);
        record_ = at_ + left_;
        at_ = record_ + static_cast<int64_t>(header_bytes);
        left_ = static_cast<int64_t>(length);
        return KeyvalRecord{load<uint64_t>(head, order_), left_, at_};
      }
    }
    return next_across_reads();
  }

  // Returns the number of bytes of the current value that were neither read nor skipped.
  int64_t left() const { return left_; }
  // Reads from the current value. Returns the number of bytes read, which is less than requested only at the
  // end of the value.
  size_t read(std::span<std::byte> out) {
    const std::span<const std::byte> ahead = stream_.buffer().ahead();
    const size_t size = out.size();
    if (size > ahead.size() || static_cast<int64_t>(size) > left_) [[unlikely]]
      return read_across_reads(out);
    if (size > 0) std::memcpy(out.data(), ahead.data(), size);
    stream_.buffer().skip(size);
    at_ += static_cast<int64_t>(size);
    left_ -= static_cast<int64_t>(size);
    return size;
  }
  // Skips `bytes` <= left() bytes without reading them.
  void skip(int64_t bytes);

 private:
  static constexpr size_t header_bytes = keyval_constants::record_header_bytes;

  std::optional<KeyvalRecord> next_across_reads();
  size_t read_across_reads(std::span<std::byte> out);
  [[noreturn]] void damaged(const std::string& finding) const;

  ReadStream& stream_;
  ByteOrder order_;
  std::string path_;
  int64_t task_;
  int64_t record_ = 0;  // start of the current record in the stream
  int64_t at_ = 0;      // current position in the stream
  int64_t left_ = 0;
};

}  // namespace sheaf::multifile
