// streams/container/failed_writes: keeps track of failed writes to a stream until the program repeats them.
//
// A program that ignores the result of a write must not mistake the stream for complete. Therefore flush()
// and sync() fail until the missing bytes have been written. If the program gave the offset of the failed
// write, any later write that covers the extent repairs it. If the write was at the program's position or at
// the end, only writing the same bytes again repairs it, in any number of writes. A write to the same extent
// proves nothing then, because the program's next bytes occupy that extent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "streams/container/constants.hpp"
#include "streams/container/container_set.hpp"
#include "streams/container/sums/parts.hpp"

namespace sheaf::streams {

// Failed writes of one stream. Not thread-safe.
class FailedStreamWrites {
 public:
  // Records that the bytes of `parts` from `done` on, intended for `offset`, were not written because of
  // `why`.
  void add(WriteParts parts, int64_t done, int64_t offset, WriteAt how, const Error& why);
  // Records that the first `bytes` bytes of `parts` have been written at `offset`.
  void note_written(WriteParts parts, int64_t bytes, int64_t offset);
  // Forgets failures at or beyond `size`, the new end of the stream.
  void cut(int64_t size);

  bool empty() const { return failures_.empty(); }
  // Return the extent of the first failure. Must not be called if empty().
  int64_t offset() const { return failures_.front().offset; }
  int64_t bytes() const { return failures_.front().bytes; }
  // Throws the error of the first failure with its extent in the stream `name`. Must not be called if
  // empty().
  [[noreturn]] void refuse(const std::string& name) const;

 private:
  // A possible retry: the bytes of consecutive writes since the failure, from one of these writes on.
  struct Repeating {
    int64_t bytes = 0;
    uint32_t sum = 0;
  };
  struct UnrepeatedWrite {
    int64_t offset = 0;
    int64_t bytes = 0;
    uint32_t sum = 0;
    WriteAt how{};
    Error why;
    std::vector<Repeating> repeating = {};
  };
  static bool is_repeated(UnrepeatedWrite& failure, WriteParts parts, int64_t bytes);

  std::vector<UnrepeatedWrite> failures_;
};

inline void FailedStreamWrites::add(WriteParts parts, int64_t done, int64_t offset, WriteAt how,
                                    const Error& why) {
  int64_t total = 0;
  for (const auto& part : parts) total += std::ssize(part);
  const UnrepeatedWrite failure{offset, total - done, sum_of_parts(parts, done, total), how, why};
  const bool known = std::ranges::any_of(failures_, [&](const UnrepeatedWrite& one) {
    return one.bytes == failure.bytes && one.sum == failure.sum && one.how == how;
  });
  if (!known && failures_.size() < container_constants::max_failures) failures_.push_back(failure);
}

inline bool FailedStreamWrites::is_repeated(UnrepeatedWrite& failure, WriteParts parts, int64_t bytes) {
  // If there are too many candidates, drop the second one. The first one is the retry in most programs.
  if (failure.repeating.size() == container_constants::max_repeating)
    failure.repeating.erase(failure.repeating.begin() + 1);
  failure.repeating.emplace_back();
  bool found = false;
  std::erase_if(failure.repeating, [&](Repeating& one) {
    const int64_t taken = std::min(bytes, failure.bytes - one.bytes);
    one.sum = sum_of_parts(parts, 0, taken, one.sum);
    one.bytes += taken;
    if (one.bytes < failure.bytes) return false;
    found |= one.sum == failure.sum;
    return true;
  });
  return found;
}

inline void FailedStreamWrites::note_written(WriteParts parts, int64_t bytes, int64_t offset) {
  std::erase_if(failures_, [&](UnrepeatedWrite& one) {
    const bool covered =
        one.how == WriteAt::offset && offset <= one.offset && one.bytes <= bytes - (one.offset - offset);
    return covered || is_repeated(one, parts, bytes);
  });
}

inline void FailedStreamWrites::cut(int64_t size) {
  std::erase_if(failures_, [&](const UnrepeatedWrite& one) { return one.offset >= size; });
}

inline void FailedStreamWrites::refuse(const std::string& name) const {
  const UnrepeatedWrite& first = failures_.front();
  throw Error(first.why.code(),
              "'" + name + "': " + std::to_string(first.bytes) + " bytes at offset " +
                  std::to_string(first.offset) +
                  " could not be written, and were not written since: " + first.why.what(),
              first.why.errno_value());
}

}  // namespace sheaf::streams
