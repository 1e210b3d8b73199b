#include "layout/extent_code.hpp"

#include "base/error.hpp"

namespace sheaf::layout {

void throw_bad_extents() {
  throw Error(Code::damaged, "a message between tasks has no valid list of extents");
}

void ExtentEncoder::append_last() {
  if (run_.count == 0) return;
  append_number(code_, static_cast<uint64_t>(run_.offset) - static_cast<uint64_t>(end_));
  append_number(code_, static_cast<uint64_t>(run_.length));
  append_number(code_, static_cast<uint64_t>(run_.count));
  if (run_.count > 1) append_number(code_, static_cast<uint64_t>(run_.stride - run_.length));
  end_ = run_.end();
}

std::vector<Extent> decode_extents(std::span<const std::byte> code, int64_t most) {
  int64_t count = 0;
  for_each_run(code, [&](const Run& run) {
    if (run.count > most - count) throw_bad_extents();
    count += run.count;
  });
  std::vector<Extent> extents;
  extents.reserve(static_cast<size_t>(count));
  for_each_extent(code, [&](int64_t offset, int64_t length) { extents.push_back({offset, length}); });
  return extents;
}

std::vector<Run> decode_runs(std::span<const std::byte> code) {
  std::vector<Run> runs;
  for_each_run(code, [&](const Run& run) { runs.push_back(run); });
  return runs;
}

void append_list(std::vector<std::byte>& to, std::span<const std::byte> code) {
  append_number(to, code.size());
  to.insert(to.end(), code.begin(), code.end());
}

std::span<const std::byte> take_list(std::span<const std::byte>& message) {
  const uint64_t length = take_number(message);
  if (length > message.size()) throw_bad_extents();
  const auto code = message.first(length);
  message = message.subspan(length);
  return code;
}

}  // namespace sheaf::layout
