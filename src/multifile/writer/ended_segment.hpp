// multifile/writer/ended_segment: values that the metadata writers of physical files determine at close and
// exchange with each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/extension.hpp"
#include "format/header.hpp"
#include "multifile/metadata/metadata_partition.hpp"

namespace sheaf::multifile {

// A segment, and the final state of its physical file according to its metadata writer.
struct EndedSegment : Segment {
  size_t number = 0;  // index among the segments of the slice
  format::Identity identity{};
  uint32_t piece = 0;  // bytes per checksum; 0: no checksums
  format::Pointer pointer{};
  int64_t sums_before = 0;       // data checksums of the tasks before the segment
  int64_t sums = 0;              // data checksums of the file
  bool sound = false;            // no task of the file has failed
  bool may_have_journal = true;  // always true if the file has several metadata writers
  bool complete = false;         // the file is complete
};

// Values that all processes need at close. Only the first metadata writer of file 0 sets the values of that
// file.
struct ClosingLead {
  // Values of file 0.
  int64_t varheader = 0, maxblocks = 0, of_file = 0, fsblksize = 0, sums = 0, piece = 0;
  int64_t process = -1;      // rank of the first metadata writer of file 0
  bool sums_follow = false;  // checksums follow in rounds
  bool overran = false;      // a program wrote beyond a chunk through its own handle
  bool incomplete = false;   // files other than file 0 are incomplete

  constexpr void combine(auto& by) {
    by.max(varheader).max(maxblocks).max(of_file).max(fsblksize).max(sums).max(piece).max(process);
    by.any(sums_follow).any(overran).any(incomplete);
  }
  // When appending to a multifile without tasks, there are no segments, and the file stays unchanged and
  // complete.
  bool has_tasks() const { return process >= 0; }
  // Returns file 0 as a segment without rows.
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

}  // namespace sheaf::multifile
