// layout/stripes: locates the bytes of a striped file (SFIO paper, section 2: the cyclic distribution).
//
// The logical file consists of stripe units of `unit` bytes. Stripe unit u is in subfile u % count, as its
// stripe unit u / count. Pure integer arithmetic. All offsets and lengths are in bytes, from 0 to 2^63 - 1. A
// function with a larger result throws invalid_argument.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/checked.hpp"
#include "base/export.hpp"
#include "layout/run.hpp"

namespace sheaf::layout {

// The part of a logical extent that is in one subfile. It is one extent of the subfile. Its bytes correspond,
// in order, to the extents of the logical file in `run`.
struct Share {
  int64_t offset = 0;      // in the subfile
  int64_t length = 0;      // 0: no bytes
  std::array<Run, 3> run;  // in the logical file
  int runs = 0;

  std::span<const Run> pieces() const { return std::span(run).first(static_cast<size_t>(runs)); }
};

struct SHEAF_EXPORT Stripes {
  int64_t unit = 1;   // bytes, > 0
  int64_t count = 1;  // subfiles, > 0

  int64_t cycle() const { return unit * count; }
  int64_t subfile_of(int64_t offset) const { return offset / unit % count; }

  // Returns the logical offset of byte `offset` of a subfile.
  int64_t logical(int64_t subfile, int64_t offset) const {
    return must_fit(checked_mul_add(offset / unit, cycle(), subfile * unit + offset % unit),
                    "an offset of a striped file");
  }

  // Returns the size of a subfile if the logical file has `size` bytes and no hole at its end.
  int64_t subfile_size(int64_t subfile, int64_t size) const {
    const int64_t rest = size % cycle() - subfile * unit;
    return size / cycle() * unit + std::clamp<int64_t>(rest, 0, unit);
  }

  // Returns the smallest logical size with which a subfile has `size` bytes.
  int64_t logical_size(int64_t subfile, int64_t size) const {
    return size == 0 ? 0 : must_fit(checked_add(logical(subfile, size - 1), 1), "the size of a striped file");
  }

  // Returns the part of [offset, offset + length) that is in `subfile`. O(1).
  Share share(int64_t subfile, int64_t offset, int64_t length) const;

  // Returns the share that is bytes [offset, offset + length) of the subfile.
  Share subrange(int64_t subfile, int64_t offset, int64_t length) const;
};

// Throws invalid_argument unless unit > 0, count > 0 and their product fits 62 bits.
SHEAF_EXPORT void check_stripes(const Stripes& stripes);

}  // namespace sheaf::layout
