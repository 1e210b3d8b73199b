// set/ended_segment: what the leaders of physical files learn in a close, and tell each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "format/extension.hpp"
#include "format/header.hpp"
#include "metadata/row_slices.hpp"

namespace sheaf {

// A segment, and what its leader knows of the physical file in the end.
struct EndedSegment : Segment {
  size_t number = 0;  // among the segments of the slice
  format::Identity identity{};
  uint32_t piece = 0;  // bytes per checksum; 0: there are none
  format::Pointer pointer{};
  int64_t sums_before = 0;       // data checksums of the tasks before the segment
  int64_t sums = 0;              // of all tasks of the file
  bool sound = false;            // no task of the file has failed
  bool may_have_journal = true;  // where several lead a file, that is not asked
  bool complete = false;         // the file is
};

// What the first leader of file 0 tells all processes; and what any of them knows.
struct ClosingLead {
  // Of file 0.
  int64_t varheader = 0, maxblocks = 0, of_file = 0, fsblksize = 0, sums = 0, piece = 0;
  int64_t process = -1;     // that leads it
  int64_t sums_follow = 0;  // in rounds
  int64_t overran = 0;      // a program wrote behind a chunk itself
  int64_t incomplete = 0;   // files other than 0 are so

  // All of these, which are nothing else.
  std::span<int64_t> values() {
    constexpr size_t count = 10;
    static_assert(sizeof(ClosingLead) == count * sizeof(int64_t));
    return {reinterpret_cast<int64_t*>(this), count};
  }
  // Of no rows.
  EndedSegment file() const {
    return {{.fsblksize = static_cast<int32_t>(fsblksize), .file_tasks = of_file},
            0,
            {},
            static_cast<uint32_t>(piece),
            {static_cast<int32_t>(maxblocks), varheader},
            0,
            sums};
  }
};

}  // namespace sheaf
