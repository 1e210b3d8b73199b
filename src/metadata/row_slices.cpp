#include "metadata/row_slices.hpp"

#include <algorithm>

#include "metadata/parallel_open.hpp"

namespace sheaf {

RowSlices::RowSlices(Comm& comm, int64_t rows, Slicing slicing) : comm_(comm), slicing_(slicing) {
  const int64_t tasks_per_leader = leader_group(static_cast<int>(std::clamp<int64_t>(rows, 1, INT32_MAX)));
  const int64_t wanted = std::max<int64_t>(1, (rows + tasks_per_leader - 1) / tasks_per_leader);
  leaders_ = slicing == Slicing::whole ? 1 : static_cast<int>(std::min<int64_t>(wanted, comm.size()));
  const int64_t groups = format::groups_of(std::max<int64_t>(1, (rows + leaders_ - 1) / leaders_));
  for (int64_t l = 0; l <= leaders_; ++l)
    begins_.push_back(l == leaders_ ? rows : std::min(rows, l * groups * format::group_tasks));
  for (int l = 0; l < leaders_; ++l)
    if (process_of(l) == comm.rank()) number_ = l;
  find_own();
}

void RowSlices::find_own() {
  if (number_ < 0) return;
  const auto n = static_cast<size_t>(number_);
  first_ = begins_[n];
  count_ = begins_[n + 1] - first_;
}

void RowSlices::align_to_file(int64_t first_row, int64_t tasks) {
  for (size_t l = 1; l + 1 < begins_.size(); ++l)
    if (int64_t& begin = begins_[l]; begin > first_row && begin < first_row + tasks)
      begin =
          slicing_ == Slicing::files ? first_row + tasks : begin - (begin - first_row) % format::group_tasks;
  find_own();
}

int64_t RowSlices::largest() const {
  int64_t most = 0;
  for (size_t l = 0; l + 1 < begins_.size(); ++l) most = std::max(most, begins_[l + 1] - begins_[l]);
  return most;
}

int RowSlices::leader_of(int64_t row) const {
  return static_cast<int>(std::upper_bound(begins_.begin() + 1, begins_.end() - 1, row) - begins_.begin()) -
         1;
}

int RowSlices::process_of(int leader) const {
  return static_cast<int>(int64_t{leader} * comm_.size() / leaders_);
}

Gathered RowSlices::collect_pieces(std::span<const std::span<const std::byte>> piece_of_leader) {
  Gathered mine;
  for (int l = 0; l < leaders_; ++l) {
    Gathered all = collect_piece(l, piece_of_leader[static_cast<size_t>(l)]);
    if (l == number_) mine = std::move(all);
  }
  return mine;
}

std::vector<std::byte> RowSlices::answer(Gathered pieces) {
  if (number_ >= 0 && pieces.sizes.size() != static_cast<size_t>(comm_.size())) {
    pieces.bytes.clear();
    pieces.sizes.assign(static_cast<size_t>(comm_.size()), 0);
  }
  std::vector<std::byte> joined;
  for (int l = 0; l < leaders_; ++l) {
    const std::vector<std::byte> piece = comm_.scatter(l == number_ ? pieces : Gathered{}, process_of(l));
    joined.insert(joined.end(), piece.begin(), piece.end());
  }
  return joined;
}

Border border_of(std::span<const Segment> segments, std::span<const int64_t> value_of_segment) {
  if (segments.empty()) return {};
  return {segments.front().file, value_of_segment.front(), segments.back().file, value_of_segment.back()};
}

int64_t fold_before(std::span<const Border> all, int number, int64_t file, int64_t start,
                    const std::function<int64_t(int64_t, int64_t)>& add) {
  for (int l = 0; l < number; ++l)
    if (const Border& b = all[static_cast<size_t>(l)]; b.last_file == file) start = add(start, b.tail);
  return start;
}

int64_t fold_behind(std::span<const Border> all, int number, int64_t file, int64_t start,
                    const std::function<int64_t(int64_t, int64_t)>& add) {
  for (auto l = static_cast<size_t>(number) + 1; l < all.size(); ++l)
    if (all[l].first_file == file) start = add(start, all[l].head);
  return start;
}

void for_each_file(Comm& comm, int32_t nfiles, std::span<const FileShare> mine,
                   const std::function<void(int32_t, int64_t, int64_t)>& visit) {
  constexpr int32_t batch = 4096;
  int64_t row = 0;
  std::vector<int64_t> tasks;
  for (int32_t begin = 0; begin < nfiles; begin += std::min(batch, nfiles - begin)) {
    tasks.assign(static_cast<size_t>(std::min(batch, nfiles - begin)), 0);
    for (; !mine.empty() && mine.front().file < begin + std::ssize(tasks); mine = mine.subspan(1))
      tasks[static_cast<size_t>(mine.front().file - begin)] += mine.front().tasks;
    comm.all_sum(tasks);
    for (size_t i = 0; i < tasks.size(); ++i) {
      visit(begin + static_cast<int32_t>(i), tasks[i], row);
      row += tasks[i];
    }
  }
}

void add_segment(std::vector<Segment>& segments, const RowSlices& slices, int32_t file, int64_t tasks,
                 int64_t first_row) {
  const int64_t begin = std::max(first_row, slices.first());
  const int64_t end = std::min(first_row + tasks, slices.first() + slices.count());
  if (begin < end) segments.push_back({file, 0, begin - first_row, end - begin, tasks, 0});
}

}  // namespace sheaf
