#include "layout/stripes.hpp"

#include <algorithm>
#include <string>

#include "base/assert.hpp"
#include "base/checked.hpp"

namespace sheaf::layout {

Share Stripes::share(int64_t subfile, int64_t offset, int64_t length) const {
  const int64_t end = must_fit(checked_add(offset, length), "the end of a transfer");
  const int64_t first = subfile_size(subfile, offset);
  return subrange(subfile, first, subfile_size(subfile, end) - first);
}

Share Stripes::subrange(int64_t subfile, int64_t offset, int64_t length) const {
  SHEAF_ASSERT(unit > 0 && subfile >= 0 && subfile < count && offset >= 0 && length >= 0);
  Share share{offset, length, {}};
  int64_t at = offset;
  int64_t left = length;
  const auto add = [&](int64_t piece, int64_t pieces) {
    share.run[static_cast<size_t>(share.runs++)] = {logical(subfile, at), piece, pieces > 1 ? cycle() : piece,
                                                    pieces};
    at += piece * pieces;
    left -= piece * pieces;
  };
  if (count == 1 && left > 0) add(left, 1);  // all pieces are adjacent
  if (left > 0 && (at % unit != 0 || left < unit)) add(std::min(left, unit - at % unit), 1);
  if (left >= unit) add(unit, left / unit);
  if (left > 0) add(left, 1);
  SHEAF_DEBUG_ASSERT(left == 0 && at == offset + length);  // the runs cover the share
  return share;
}

void check_stripes(const Stripes& stripes) {
  if (stripes.unit <= 0)
    throw Error(Code::invalid_argument,
                "a stripe unit of " + std::to_string(stripes.unit) + " bytes; it must be > 0");
  if (stripes.count <= 0) throw Error(Code::invalid_argument, "a striped file needs at least one subfile");
  if (const auto cycle = checked_mul(stripes.unit, stripes.count); !cycle || *cycle > INT64_MAX / 2)
    throw Error(Code::invalid_argument, "a stripe unit of " + std::to_string(stripes.unit) +
                                            " bytes is too large for " + std::to_string(stripes.count) +
                                            " subfiles");
}

}  // namespace sheaf::layout
