// Rows of the metadata arrays, read by leaders for the processes that ask for them.
#include <algorithm>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "set/mapped_reader.hpp"
#include "storage/patience.hpp"
#include "stream/file_checks.hpp"

namespace sheaf {

namespace {

struct RowRequest {
  int64_t row;
};

// What a leader tells about a row, followed by the sizes of its blocks.
struct RowAnswer {
  MappedPlace place;
  int64_t blocks;
  SumsPlace sums;
};

}  // namespace

// Collective.
void MappedReader::read_rows(bool appends) {
  slice_ = std::make_unique<MappedSlice>();
  MappedSlice& slice = *slice_;
  std::vector<int64_t> sums;
  auto problem = attempt([&] {
    for (Segment& s : segments_) {
      const auto file = open_patiently(*store_, name_of(s.file), Access::read, patience_with_members);
      MetadataReader reader(*store_, *file);
      reader.set_checking(checking_);
      s.fsblksize = reader.header().fsblksize;
      const size_t before = slice.sizes.size();
      const format::Pointer p = reader.read_pointer();
      std::vector<SumsPlace> places(static_cast<size_t>(s.count));
      if (FileChecks* const checks = reader.checks(p)) places = checks->check_tasks(s.first, s.count);
      slice.sums.insert(slice.sums.end(), places.begin(), places.end());
      if (FileChecks* const checks = appends ? reader.checks(p) : nullptr)
        checks->check_sums(s.first, s.count);
      slice.read(reader, p, s);
      int64_t sum = 0;
      for (size_t t = before; t < slice.sizes.size(); ++t) {
        const auto next = checked_add(sum, slice.sizes[t]);
        if (!next) reader.damaged("the chunk sizes add up to more than 2^63 bytes");
        sum = *next;
      }
      sums.push_back(sum);
    }
  });
  agree(*comm_, problem);
  const auto borders = rows_->share(border_of(segments_, sums));

  std::vector<RowRequest> wanted;
  for (const size_t i : mine_.by_row) wanted.push_back({mine_.tasks[i].row});
  const Gathered asked = rows_->collect(std::span<const RowRequest>(wanted));
  Gathered answers;
  problem = attempt([&] {
    for (size_t s = 0; s < segments_.size(); ++s) {
      Segment& segment = segments_[s];
      const auto file = open_patiently(*store_, name_of(segment.file), Access::read, patience_with_members);
      const MetadataReader checker(*file, slice.headers[s]);
      const auto add = [&](int64_t a, int64_t b) {
        const auto sum = checked_add(a, b);
        if (!sum) checker.damaged("the chunk sizes add up to more than 2^63 bytes");
        return *sum;
      };
      const int64_t before = fold_before(borders, rows_->number(), segment.file, 0, add);
      const int64_t skip = fold_behind(borders, rows_->number(), segment.file, add(before, sums[s]), add);
      segment.skip = skip;
      checker.check_pointer(slice.pointers[s], skip);
      int64_t start = add(layout::data_start(segment.file_tasks, segment.fsblksize), before);
      for (int64_t k = 0; k < segment.count; ++k) {
        const size_t row = slice.places.size();
        slice.places.push_back({{start, skip, slice.sizes[row]}, segment.fsblksize});
        for (int64_t b = 0; b < slice.counts[row]; ++b)
          checker.check_block(slice.pointers[s], slice.places[row].geometry, segment.first + k, b,
                              slice.block(row, b));
        start = add(start, slice.sizes[row]);
      }
    }
    slice.readers.resize(slice.places.size());
    size_t next = 0;
    const auto requests = records_of<RowRequest>(asked);
    const auto append = [&](const auto& value) {
      const auto bytes = std::as_bytes(std::span(&value, 1));
      answers.bytes.insert(answers.bytes.end(), bytes.begin(), bytes.end());
    };
    for (const int64_t bytes : asked.sizes) {
      const size_t begin = answers.bytes.size();
      for (size_t n = static_cast<size_t>(bytes) / sizeof(RowRequest); n > 0; --n) {
        const auto row = static_cast<size_t>(requests[next++].row - rows_->first());
        ++slice.readers[row];
        append(RowAnswer{slice.places[row], slice.counts[row], slice.sums[row]});
        for (int64_t b = 0; b < slice.counts[row]; ++b) append(slice.block(row, b));
      }
      answers.sizes.push_back(static_cast<int64_t>(answers.bytes.size() - begin));
    }
    size_t first = 0;
    for (const Segment& segment : segments_) {
      const auto rows = static_cast<size_t>(segment.count);
      const auto unread = std::span(slice.readers).subspan(first, rows);
      if (appends && slice.sums[first].piece > 0 && std::ranges::count(unread, 0) > 0)
        slice.keep_sums(*open_patiently(*store_, name_of(segment.file), Access::read), first, rows);
      first += rows;
    }
  });
  const std::vector<std::byte> mine = rows_->answer(std::move(answers));
  agree(*comm_, problem);
  sizes_.resize(mine_.tasks.size());
  sums_.resize(mine_.tasks.size());
  size_t at = 0;
  for (const size_t i : mine_.by_row) {
    RowAnswer answer;
    std::memcpy(&answer, mine.data() + at, sizeof answer);
    at += sizeof answer;
    mine_.tasks[i].geometry = answer.place.geometry;
    mine_.files[mine_.tasks[i].file].fsblksize = static_cast<int32_t>(answer.place.fsblksize);
    sums_[i] = answer.sums;
    sizes_[i] = {block_sizes_.size(), static_cast<int32_t>(answer.blocks)};
    for (int64_t b = 0; b < answer.blocks; ++b, at += 8)
      block_sizes_.push_back(load<int64_t>(mine.data() + at, native_order));
  }
}

}  // namespace sheaf
