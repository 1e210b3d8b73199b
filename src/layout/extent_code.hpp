// layout/extent_code: the encoding of lists of extents in messages between tasks. Files never contain it.
//
// A list is a sequence of runs (layout/run). A run is encoded as its distance from the end of the preceding
// run, its length, its count and, if the count is not 1, the gap between its extents. The first run has its
// distance from 0. Distances are modulo 2^64, so that a list need not be sorted. Numbers have a variable
// length, seven bits per byte, the lowest bits first. Every list of runs has exactly one code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/checked.hpp"
#include "base/export.hpp"
#include "base/extent.hpp"
#include "layout/run.hpp"

namespace sheaf::layout {

// Throws damaged for a message that the functions below cannot have produced.
[[noreturn]] SHEAF_EXPORT void throw_bad_extents();

// Appends a number to a message.
inline void append_number(std::vector<std::byte>& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::byte>(value | 0x80));
  to.push_back(static_cast<std::byte>(value));
}

// Removes a number from the front of `code` and returns it. Throws damaged if `code` does not begin with one.
inline uint64_t take_number(std::span<const std::byte>& code) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !code.empty(); shift += 7) {
    const auto byte = static_cast<uint64_t>(code.front());
    code = code.subspan(1);
    value |= (byte & 0x7f) << shift;
    if (byte >= 0x80) continue;
    if (shift > 0 && byte == 0) break;  // append_number() ends with the highest bits that are set
    if (shift == 63 && byte > 1) break;
    return value;
  }
  throw_bad_extents();
}

// Creates the code of a list. Extents must have an offset >= 0 and a length > 0 and must end below 2^63; the
// extents of a run must not overlap.
class ExtentEncoder {
 public:
  // Appends an extent. Extends the last run if the distance and the length are the same.
  void add(const Extent& extent) {
    SHEAF_DEBUG_ASSERT(extent.length > 0);
    const int64_t stride = extent.offset - (run_.end() - run_.length);  // from the last extent
    if (extent.length == run_.length && stride >= run_.length && (run_.count == 1 || stride == run_.stride)) {
      run_.stride = stride;
      ++run_.count;
    } else {
      add(Run{extent.offset, extent.length});
    }
  }
  // Appends a run of its own.
  void add(const Run& run) {
    SHEAF_ASSERT(run.offset >= 0 && run.length > 0 && run.count > 0);
    SHEAF_ASSERT(run.count == 1 || run.stride >= run.length);
    append_last();
    run_ = run;
  }
  std::vector<std::byte> take() {
    append_last();
    return std::move(code_);
  }

 private:
  void append_last();

  std::vector<std::byte> code_;  // without the last run
  Run run_{.count = 0};          // the last run, which the next extent may extend
  int64_t end_ = 0;              // end of the run before it
};

// Returns the code of a list of extents or runs.
template <class List>
std::vector<std::byte> encode_extents(const List& list) {
  ExtentEncoder encoder;
  for (const auto& one : list) encoder.add(one);
  return encoder.take();
}

// Removes a run from the front of `code` and returns it. `before` is the end of the run before it. Throws
// damaged unless `code` begins with a run that ExtentEncoder accepts. A single extent gets its length as its
// stride.
inline Run take_run(std::span<const std::byte>& code, int64_t before) {
  const auto next = [&] { return static_cast<int64_t>(take_number(code)); };
  Run run;
  run.offset = static_cast<int64_t>(static_cast<uint64_t>(before) + take_number(code));
  run.length = next();
  run.count = next();
  const int64_t gap = run.count == 1 ? 0 : next();
  if (run.offset < 0 || run.length <= 0 || run.count <= 0 || gap < 0) throw_bad_extents();
  const auto stride = checked_add(run.length, gap);
  const auto last = stride ? checked_mul_add(*stride, run.count - 1, run.offset) : stride;
  if (!last || !checked_add(*last, run.length)) throw_bad_extents();
  run.stride = *stride;
  return run;
}

// Calls use(run) for all runs of a list, in order. Throws damaged at the first invalid one.
template <class Use>
void for_each_run(std::span<const std::byte> code, Use use) {
  for (int64_t end = 0; !code.empty();) {
    const Run run = take_run(code, end);
    use(run);
    end = run.end();
  }
}

// Calls use(offset, length) for all extents of a list, in order. Throws damaged at the first invalid run.
template <class Use>
void for_each_extent(std::span<const std::byte> code, Use use) {
  for_each_run(code, [&](const Run& run) {
    for (int64_t i = 0; i < run.count; ++i) use(run.offset + i * run.stride, run.length);
  });
}

// Returns the extents, or the runs, of a list. Throws damaged if the list is invalid or has more than `most`
// extents. Allocates memory only for a valid list.
SHEAF_EXPORT std::vector<Extent> decode_extents(std::span<const std::byte> code, int64_t most);
SHEAF_EXPORT std::vector<Run> decode_runs(std::span<const std::byte> code);

// Append and remove a list that is preceded by the length of its code. take_list() throws damaged if the
// message is too short; the list is not validated.
SHEAF_EXPORT void append_list(std::vector<std::byte>& to, std::span<const std::byte> code);
SHEAF_EXPORT std::span<const std::byte> take_list(std::span<const std::byte>& message);

// Returns the maximum number of bytes that append_list() appends for `extents` extents. A number has at most
// 10 bytes; a run takes 20 bytes if it is a single extent, and at most 37 if it has several.
constexpr size_t max_list_code(size_t extents) { return 10 + 20 * extents; }

}  // namespace sheaf::layout
