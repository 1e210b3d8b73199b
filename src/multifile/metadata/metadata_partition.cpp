#include "multifile/metadata/metadata_partition.hpp"

#include <algorithm>
#include <numeric>

#include "base/assert.hpp"
#include "base/checked.hpp"
#include "layout/slices.hpp"
#include "multifile/metadata/constants.hpp"
#include "multifile/metadata/parallel_open.hpp"

namespace sheaf::multifile {

namespace {

// Sums of the first and the last segment of a slice. The files of these segments may continue in other
// slices.
struct Border {
  int64_t first_file = -1;
  SegmentSums first;
  int64_t last_file = -1;
  SegmentSums last;
};

}  // namespace

MetadataPartition::MetadataPartition(Comm& comm, int64_t rows, Slicing slicing, int root)
    : all_(comm), comm_(&comm), slicing_(slicing), root_(root) {
  const int64_t tasks_per_metadata_writer =
      metadata_writer_group(static_cast<int>(std::clamp<int64_t>(rows, 1, INT32_MAX)));
  const int64_t wanted =
      std::max<int64_t>(1, (rows + tasks_per_metadata_writer - 1) / tasks_per_metadata_writer);
  const int64_t metadata_writers = slicing == Slicing::whole ? 1 : std::min<int64_t>(wanted, comm.size());
  const int64_t groups =
      format::groups_of(std::max<int64_t>(1, (rows + metadata_writers - 1) / metadata_writers));
  for (int64_t l = 0; l <= metadata_writers; ++l)
    begins_.push_back(l == metadata_writers ? rows : std::min(rows, l * groups * format::group_tasks));
  for (int l = 0; l < metadata_writers; ++l)
    if (process_of(l) == comm.rank()) number_ = l;
  find_own();
}

MetadataPartition::MetadataPartition(Comm& comm, Slicing slicing, int root)
    : all_(comm), comm_(&comm), slicing_(slicing), root_(slicing == Slicing::whole ? root : 0) {
  const int64_t all = comm.size();
  const int64_t group = slicing == Slicing::groups ? metadata_writer_group(comm.size()) : all;
  const int64_t grain = std::lcm<int64_t>(comm.grain(), group < all ? format::group_tasks : 1);
  rows_per_slice_ = std::min((group + grain - 1) / grain * grain, std::max(group, all));
  slices_ = static_cast<int>((all + rows_per_slice_ - 1) / rows_per_slice_);
  const int64_t slice = comm.rank() / rows_per_slice_;
  if (slices_ > 1) {
    slice_ = comm.split(static_cast<int>(slice), comm.rank());
    comm_ = slice_.get();
  }
  if (comm_->rank() != root_) return;
  number_ = 0;
  first_ = slice * rows_per_slice_;
  count_ = comm_->size();
}

void MetadataPartition::align_to_file(int64_t first_row, int64_t tasks) {
  for (size_t l = 1; l + 1 < begins_.size(); ++l)
    if (int64_t& begin = begins_[l]; begin > first_row && begin < first_row + tasks)
      begin =
          slicing_ == Slicing::files ? first_row + tasks : begin - (begin - first_row) % format::group_tasks;
  find_own();
}

std::vector<std::byte> MetadataPartition::answer(Gathered pieces) {
  if (is_metadata_writer() && pieces.sizes.size() != static_cast<size_t>(comm_->size())) {
    pieces.bytes.clear();
    pieces.sizes.assign(static_cast<size_t>(comm_->size()), 0);
  }
  std::vector<std::byte> joined;
  for (int l = 0; l < metadata_writers(); ++l) {
    std::vector<std::byte> piece = comm_->scatter(l == number_ ? pieces : Gathered{}, process_of(l));
    if (l == 0) {
      joined = std::move(piece);
    } else {
      joined.insert(joined.end(), piece.begin(), piece.end());
    }
  }
  return joined;
}

// Returns the sums over all slices of a table of rows by rank.
FileSums MetadataPartition::add_up_slices(SegmentSums mine, WantedSums totals) {
  if (totals == WantedSums::all) all_.all_max(std::span(&mine.largest, 1));
  PrefixedSum sum{INT64_MAX, INT64_MAX};
  attempt([&] { sum = prefixed_sum(all_, mine.sum); });
  return {sum.before, sum.total, mine.largest};
}

std::vector<FileSums> MetadataPartition::add_up(std::span<const Segment> segments,
                                                std::span<const SegmentSums> own, WantedSums totals) {
  SHEAF_ASSERT(own.size() == segments.size());
  std::vector<FileSums> found;
  for (const SegmentSums& s : own) found.push_back({0, s.sum, s.largest});
  if (by_rank()) {  // one file, with one segment per metadata task
    if (slices_ > 1) found.assign(found.size(), add_up_slices(own.empty() ? SegmentSums{} : own[0], totals));
    return found;
  }
  Border border;
  if (!segments.empty()) border = {segments.front().file, own.front(), segments.back().file, own.back()};
  const std::vector<Border> all = share(border);
  for (size_t s = 0; s < segments.size(); ++s) {
    FileSums& sums = found[s];
    for (int l = 0; l < metadata_writers(); ++l) {
      const Border& b = all[static_cast<size_t>(l)];
      const bool before = l < number_;
      if (l == number_ || (before ? b.last_file : b.first_file) != segments[s].file) continue;
      const SegmentSums& other = before ? b.last : b.first;
      if (before) sums.before = saturated_add(sums.before, other.sum);
      sums.sum = saturated_add(sums.sum, other.sum);
      sums.largest = std::max(sums.largest, other.largest);
    }
  }
  return found;
}

void for_each_file(Comm& comm, int32_t nfiles, std::span<const FileShare> mine,
                   const std::function<void(int32_t, int64_t, int64_t)>& visit) {
  SHEAF_DEBUG_ASSERT(std::ranges::is_sorted(mine, {}, &FileShare::file));
  int64_t row = 0;
  constexpr int64_t at_once = metadata_constants::files_counted_at_once;
  layout::for_each_slice(0, nfiles, at_once, [&](int64_t begin, std::span<int64_t> tasks) {
    std::ranges::fill(tasks, 0);
    for (; !mine.empty() && mine.front().file < begin + std::ssize(tasks); mine = mine.subspan(1))
      tasks[static_cast<size_t>(mine.front().file - begin)] += mine.front().tasks;
    comm.all_sum(tasks);
    for (const int64_t of_file : tasks) {
      visit(static_cast<int32_t>(begin++), of_file, row);
      row += of_file;
    }
  });
}

void add_segment(std::vector<Segment>& segments, const MetadataPartition& slices, int32_t file, int64_t tasks,
                 int64_t first_row) {
  const int64_t begin = std::max(first_row, slices.first());
  const int64_t end = std::min(first_row + tasks, slices.first() + slices.count());
  if (begin < end)
    segments.push_back(
        {file, 0, begin - first_row, end - begin, tasks, 0, static_cast<size_t>(begin - slices.first())});
}

}  // namespace sheaf::multifile
