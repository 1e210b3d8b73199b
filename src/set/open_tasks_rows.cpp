// Rows of the metadata arrays, read by leaders for the processes that ask for them.
#include <algorithm>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "set/open_tasks.hpp"
#include "storage/patience.hpp"
#include "stream/file_checks.hpp"

namespace sheaf {

namespace {

struct RowRequest {
  int64_t row;
};

// What a leader tells about a row, followed by the sizes of its blocks.
struct RowAnswer {
  PlacedRow place;
  int64_t blocks;
  SumsPlace sums;
};

}  // namespace

// Collective.
void OpenTasks::read_rows(Comm& comm, AppendedTables& tables, bool appends) {
  const auto& rows = tables.rows;
  std::vector<Segment>& segments = tables.segments;
  tables.slice = std::make_unique<TableSlice>();
  TableSlice& table = *tables.slice;
  std::vector<int64_t> sums;
  auto problem = attempt([&] {
    for (Segment& s : segments) {
      const auto file =
          open_patiently(*search_->store, search_->name(s.file), Access::read, patience_with_members);
      MetadataReader reader(*search_->store, *file);
      reader.set_checking(search_->checking);
      s.fsblksize = reader.header().fsblksize;
      const size_t before = table.sizes.size();
      const format::Pointer p = reader.read_pointer();
      std::vector<SumsPlace> places(static_cast<size_t>(s.count));
      if (FileChecks* const checks = reader.checks(p)) places = checks->check_tasks(s.first, s.count);
      table.sums.insert(table.sums.end(), places.begin(), places.end());
      if (FileChecks* const checks = appends ? reader.checks(p) : nullptr)
        checks->check_sums(s.first, s.count);
      table.read(reader, p, s);
      int64_t sum = 0;
      for (size_t t = before; t < table.sizes.size(); ++t) {
        const auto next = checked_add(sum, table.sizes[t]);
        if (!next) reader.damaged("the chunk sizes add up to more than 2^63 bytes");
        sum = *next;
      }
      sums.push_back(sum);
    }
  });
  agree(comm, problem);
  const auto borders = rows->share(border_of(segments, sums));

  std::vector<RowRequest> wanted;
  for (const size_t i : own.by_row) wanted.push_back({own.tasks[i].row});
  const Gathered asked = rows->collect(std::span<const RowRequest>(wanted));
  Gathered answers;
  problem = attempt([&] {
    for (size_t s = 0; s < segments.size(); ++s) {
      Segment& segment = segments[s];
      const auto file =
          open_patiently(*search_->store, search_->name(segment.file), Access::read, patience_with_members);
      const MetadataReader checker(*file, table.headers[s]);
      const auto add = [&](int64_t a, int64_t b) {
        const auto sum = checked_add(a, b);
        if (!sum) checker.damaged("the chunk sizes add up to more than 2^63 bytes");
        return *sum;
      };
      const int64_t before = fold_before(borders, rows->number(), segment.file, 0, add);
      const int64_t skip = fold_behind(borders, rows->number(), segment.file, add(before, sums[s]), add);
      segment.skip = skip;
      checker.check_pointer(table.pointers[s], skip);
      int64_t start = add(layout::data_start(segment.file_tasks, segment.fsblksize), before);
      for (int64_t k = 0; k < segment.count; ++k) {
        const size_t row = table.places.size();
        table.places.push_back({{start, skip, table.sizes[row]}, segment.fsblksize});
        for (int64_t b = 0; b < table.counts[row]; ++b)
          checker.check_block(table.pointers[s], table.places[row].geometry, segment.first + k, b,
                              table.block(row, b));
        start = add(start, table.sizes[row]);
      }
    }
    table.readers.resize(table.places.size());
    size_t next = 0;
    const auto requests = records_of<RowRequest>(asked);
    const auto append = [&](const auto& value) {
      const auto bytes = std::as_bytes(std::span(&value, 1));
      answers.bytes.insert(answers.bytes.end(), bytes.begin(), bytes.end());
    };
    for (const int64_t bytes : asked.sizes) {
      const size_t begin = answers.bytes.size();
      for (size_t n = static_cast<size_t>(bytes) / sizeof(RowRequest); n > 0; --n) {
        const auto row = static_cast<size_t>(requests[next++].row - rows->first());
        ++table.readers[row];
        append(RowAnswer{table.places[row], table.counts[row], table.sums[row]});
        for (int64_t b = 0; b < table.counts[row]; ++b) append(table.block(row, b));
      }
      answers.sizes.push_back(static_cast<int64_t>(answers.bytes.size() - begin));
    }
    size_t first = 0;
    for (const Segment& segment : segments) {
      const auto n = static_cast<size_t>(segment.count);
      const auto unread = std::span(table.readers).subspan(first, n);
      if (appends && table.sums[first].piece > 0 && std::ranges::count(unread, 0) > 0)
        table.keep_sums(*open_patiently(*search_->store, search_->name(segment.file), Access::read), first,
                        n);
      first += n;
    }
  });
  const std::vector<std::byte> mine = rows->answer(std::move(answers));
  agree(comm, problem);
  // The sizes of the blocks of all own tasks, one behind the other.
  const auto sizes = std::make_shared<std::vector<int64_t>>();
  std::vector<size_t> begins;
  stored_.resize(own.tasks.size());
  size_t at = 0;
  for (const size_t i : own.by_row) {
    RowAnswer answer;
    std::memcpy(&answer, mine.data() + at, sizeof answer);
    at += sizeof answer;
    OwnTask& t = own.tasks[i];
    t.geometry = answer.place.geometry;
    own.files[t.file].fsblksize = static_cast<int32_t>(answer.place.fsblksize);
    stored_[i] = {t.place.file,
                  -1,
                  nullptr,
                  t.geometry,
                  {nullptr, 1, static_cast<int32_t>(answer.blocks)},
                  sizes,
                  {answer.sums.at, answer.sums.piece, t.place.local_rank}};
    begins.push_back(sizes->size());
    for (int64_t b = 0; b < answer.blocks; ++b, at += 8)
      sizes->push_back(load<int64_t>(mine.data() + at, native_order));
  }
  for (size_t k = 0; k < begins.size(); ++k) {
    BlockSizes& blocks = stored_[own.by_row[k]].sizes;
    blocks = {sizes->data() + begins[k], 1, blocks.count};
  }
}

}  // namespace sheaf
