// multifile/reader/table_slice: the rows of the metadata arrays that a metadata task has read.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "multifile/metadata/metadata_io.hpp"
#include "multifile/metadata/metadata_partition.hpp"
#include "multifile/stream/file_checks.hpp"
#include "multifile/stream/read_stream.hpp"

namespace sheaf::multifile {

struct TableSlice {
  std::vector<format::Header> headers;  // one per segment, like the next two
  std::vector<format::Pointer> pointers;
  std::vector<std::optional<format::Extension>> extensions;
  std::vector<int64_t> sizes;              // chunk sizes, one per row, like the next ones
  std::vector<int64_t> counts;             // blocks
  std::vector<int64_t> firsts;             // sizes of the first blocks
  std::vector<std::vector<int64_t>> more;  // sizes of the following blocks; empty if no task has any
  std::vector<int64_t> starts;             // of chunk 0
  std::vector<SumsPlace> sums;
  // When appending: concatenated checksums of the rows that no process requested. They go into the new
  // trailer. Appended data may overwrite the old trailer, so the checksums are held until then. Checksums of
  // requested rows are held by the requesting processes.
  std::vector<uint32_t> data_sums;
  std::vector<int32_t> readers;  // number of requests for a row
  int64_t unused = 0;            // value stored for rounds that a task has not used

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
    extensions.push_back(reader.extension());
    reader.read_chunk_sizes(s.first, grow(sizes));
    reader.read_block_counts(p, s.first, grow(counts));
    reader.read_block_sizes(p, 0, s.first, grow(firsts));
    if (p.maxblocks > 1 || !more.empty()) more.resize(at + n);
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

  void set_block(size_t row, int64_t number, int64_t bytes) {
    (number == 0 ? firsts[row] : more[row][static_cast<size_t>(number - 1)]) = bytes;
  }

  int64_t count_sums(size_t row) const {
    int64_t count = 0;
    for (int64_t b = 0; sums[row].piece > 0 && b < counts[row]; ++b)
      count += format::sums_of_block(block(row, b), sizes[row], sums[row].piece);
    return count;
  }

  // Reads the `data_sums` of the rows of a segment.
  void keep_sums(File& file, const Segment& s) {
    for (size_t row = s.row; row < s.end();) {
      // Neighbouring rows are adjacent in the file.
      size_t next = row;
      int64_t n = 0;
      for (; next < s.end() && readers[next] == 0; ++next) n += count_sums(next);
      if (n > 0) {
        data_sums.resize(data_sums.size() + static_cast<size_t>(n));
        read_sums(file, sums[row].at, std::span(data_sums).last(static_cast<size_t>(n)));
      }
      row = std::max(next, row + 1);
    }
  }
};

}  // namespace sheaf::multifile
