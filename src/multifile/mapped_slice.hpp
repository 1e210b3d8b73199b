// multifile/mapped_slice: the rows of the metadata arrays that a leader has read.
#pragma once

#include <optional>
#include <vector>

#include "multifile/mapped_tasks.hpp"
#include "multifile/metadata_io.hpp"
#include "multifile/read_stream.hpp"

namespace sheaf {

struct MappedSlice {
  std::vector<format::Header> headers;    // one per segment, as the next
  std::vector<format::Pointer> pointers;
  std::vector<int64_t> sizes;              // chunk sizes, one per row, as the next ones
  std::vector<int64_t> counts;             // blocks
  std::vector<int64_t> firsts;             // sizes of the first blocks
  std::vector<std::vector<int64_t>> more;  // sizes of the blocks behind those; empty if no task has any
  std::vector<MappedPlace> places;
  std::vector<SumsPlace> sums;
  std::vector<uint32_t> data_sums;         // appending: the checksums of all rows, one behind the other
  std::vector<int32_t> readers;            // how often a row was asked for
  int64_t unused = 0;                      // what is stored for rounds that a task has not used

  // Appends the rows of a segment.
  void read(MetadataReader& reader, const format::Pointer& p, const Segment& s) {
    const size_t at = sizes.size();
    const auto n = static_cast<size_t>(s.count);
    const auto grow = [&](std::vector<int64_t>& column) {
      column.resize(at + n);
      return std::span(column).subspan(at);
    };
    headers.push_back(reader.header());
    pointers.push_back(p);
    reader.read_chunk_sizes(s.first, grow(sizes));
    reader.read_block_counts(p, s.first, grow(counts));
    reader.read_block_sizes(p, 0, s.first, grow(firsts));
    more.resize(at + n);
    std::vector<int64_t> round(p.maxblocks > 1 ? n : 0);
    for (int64_t k = 1; k < p.maxblocks; ++k) {
      reader.read_block_sizes(p, k, s.first, round);
      for (size_t t = 0; t < n; ++t) {
        if (k < counts[at + t]) {
          more[at + t].push_back(round[t]);
        } else {
          unused = round[t] == -1 ? -1 : 0;
        }
      }
    }
  }

  int64_t block(size_t row, int64_t number) const {
    return number == 0 ? firsts[row] : more[row][static_cast<size_t>(number - 1)];
  }
};

}  // namespace sheaf
