// Recovers the metadata of files that were never closed (MetadataReader).
#include <algorithm>

#include "base/warnings.hpp"
#include "multifile/journal/lease.hpp"
#include "multifile/metadata/constants.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "storage/beside.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

using format::Pointer;
using format::TableSource;

// Returns false if the file cannot have a journal. If it can have one but has none, returns true and leaves
// journal_ null.
bool MetadataReader::open_journal() {
  const auto own = store_ ? extension() : std::nullopt;
  if (own) journal_ = JournalReader::open(*store_, file_.path(), header_, *own, lost_records_);
  return journal_ || (own && (own->flags & format::flag_journal));
}

Pointer MetadataReader::read_marks() {
  std::array<std::byte, format::pointer_size> bytes{};
  file_.read_at(bytes, header_.pointer_offset());
  return format::decode_pointer(bytes, header_.metadata_order);
}

bool MetadataReader::has_journal_gap() {
  return format::has_journal_gap(read_marks()) ||
         (store_ && store_->status(format::journal_gap_name(place_beside(*store_, file_.path()))).exists);
}

// Returns advice for error messages. Advises a repair only if no program is writing the file.
std::string MetadataReader::what_to_do() const {
  const LeaseView view = store_ ? look_at_lease(*store_, file_.path()) : LeaseView{};
  if (view.holder == Holder::living) return view.job() + " is writing it";
  return "`sheaf repair` recovers what can be told from the file alone";
}

void MetadataReader::lost_journal() {
  journal_lost_ = true;
  throw file_error(
      Code::unclosed, file_.path(),
      "the multifile was never closed, and its journal '" + format::journal_name(file_.path()) + "' is " +
          (journal_ ? "another one or destroyed" : "missing") +
          ", which tells what its tasks had written (was the file copied or moved without it?); " +
          what_to_do());
}

void MetadataReader::warn_of_damage() const {
  const JournalDamage& found = journal_->damage();
  if (!found) return;
  const std::string what =
      found.lost > 0
          ? std::to_string(found.lost) + " record(s) are lost, the first one of local task " +
                std::to_string(found.first_lost) + ": where the streams of these tasks end is not known"
      : found.corrected > 0
          ? std::to_string(found.corrected) + " record(s) had a wrong bit, which was corrected"
          : "its header is destroyed";
  add_warning("the journal of '" + file_.path() + "' is damaged: " + what);
}

Pointer MetadataReader::recover_pointer() {
  const bool possible = open_journal();
  if (!journal_) {
    // The file may have been closed meanwhile: a close writes the pointer, then removes the journal.
    if (const auto stored = read_stored_pointer()) return *stored;
    if (!possible)
      throw file_error(
          Code::unclosed, file_.path(),
          "the multifile was never closed: its block table is missing, and there is no journal (" +
              what_to_do() + ")");
    if (format::is_marked(read_marks())) {
      open_journal();  // repeated: a task may have created the journal since the first call
      if (!journal_)
        if (const auto stored = read_stored_pointer()) return *stored;
      if (!journal_) lost_journal();
    }
  }
  const int64_t skip =
      visit_chunk_sizes(metadata_constants::recovered_at_once, [](int64_t, std::span<const int64_t>) {});
  if (!journal_)
    if (const auto found = find_unmarked_table(skip)) return *found;
  const int64_t most = header_.ntasks == 0 ? 0 : journal_ ? journal_->max_blocks() : 1;
  if (journal_ && !journal_->found_records() &&
      (format::is_marked(read_marks()) || !journal_->damage().headers.empty()))
    lost_journal();
  if (journal_) warn_of_damage();
  const auto end = layout::end_of_rounds(header_.ntasks, header_.fsblksize, most, skip);
  if (!end || most > INT32_MAX)
    damaged("its journal speaks of " + std::to_string(most) + " blocks, more than a file can hold");
  return {static_cast<int32_t>(most), *end, journal_ ? TableSource::journal : TableSource::none};
}

// Finds a complete block table at the end of a file without a journal. If there is one, all data are written,
// and the program died in the last step of its close, before it wrote the pointer.
std::optional<Pointer> MetadataReader::find_unmarked_table(int64_t skip) {
  const int64_t n = header_.ntasks;
  if (const auto p = pointer_in_trailer(file_, extension());
      p && matches_trailer(file_, header_, *p, extension()))
    return Pointer{p->maxblocks, p->varheader, TableSource::unmarked};
  const int64_t begin = layout::data_start(n, header_.fsblksize);
  const auto round = checked_add(skip, 8 * n);
  if (n == 0 || !round || file_size() < begin + 8 * n) return std::nullopt;
  const int64_t most = (file_size() - begin - 8 * n) / *round;
  for (int64_t blocks = most; blocks >= std::max<int64_t>(1, most - 1) && blocks <= INT32_MAX; --blocks) {
    const Pointer p{static_cast<int32_t>(blocks), begin + blocks * skip};
    int64_t largest = 0;
    const bool sound = unless_damaged([&] {
      layout::for_each_slice(0, n, metadata_constants::recovered_at_once,
                             [&](int64_t first, std::span<int64_t> counts) {
                               read_block_counts(p, first, counts);
                               largest = std::max(largest, std::ranges::max(counts));
                             });
    });
    if (sound && largest == blocks) return Pointer{p.maxblocks, p.varheader, TableSource::unmarked};
  }
  return std::nullopt;
}

// Returns the pointer to the block table of a file that was unclosed when `p` was recovered. The file has a
// table if find_unmarked_table() found one, or if it was closed later, which removed the journal. Returns
// nullopt if there is no table or the journal still exists. Throws `unclosed` if the journal was removed and
// no close has written a pointer.
std::optional<Pointer> MetadataReader::table_of(const Pointer& p) {
  if (p.source == TableSource::unmarked) return Pointer{p.maxblocks, p.varheader};
  if (p.source == TableSource::none || journal_) return std::nullopt;
  if (closed_) return closed_;
  open_journal();
  if (journal_) return std::nullopt;
  closed_ = read_stored_pointer();
  if (!closed_)
    throw file_error(Code::unclosed, format::journal_name(file_.path()),
                     "the journal was removed while it was in use");
  return closed_;
}

void MetadataReader::recover_counts(const Pointer& p, int64_t first, std::span<int64_t> values) {
  if (const auto table = table_of(p)) {
    read_block_counts(*table, first, values);
    for (int64_t& count : values) count = std::min<int64_t>(count, p.maxblocks);
  } else if (p.source == TableSource::none) {
    std::ranges::fill(values, 1);
  } else {
    journal_->read_counts(first, p.maxblocks, values);
  }
}

void MetadataReader::recover_sizes(const Pointer& p, int64_t round, int64_t first,
                                   std::span<int64_t> values) {
  if (const auto table = table_of(p)) return read_block_sizes(*table, round, first, values);
  // Values for more than one round are requested only for all tasks of the file.
  for (; !values.empty(); ++round) {
    const auto row = values.first(std::min(values.size(), static_cast<size_t>(header_.ntasks - first)));
    if (p.source == TableSource::none) {
      std::ranges::fill(row, 0);
    } else {
      journal_->read_sizes(round, first, row);
    }
    values = values.subspan(row.size());
  }
}

void require_same_open(const std::optional<format::Extension>& lead, MetadataReader& member) {
  if (is_of_another_open(lead, member.extension()))
    member.damaged("was written by another open than file 0 of its set: their identities differ");
}

// Visits the place and number of every task, in any order. Ignores tasks with negative numbers, which precede
// the file's own tasks in buddy copies.
void MetadataReader::for_each_rank(const std::function<void(layout::Placement, int64_t rank)>& visit) {
  const bool in_order = extension() && extension()->in_order();
  int64_t number = 0;
  for (int32_t k = 0; k < header_.nfiles; ++k) {
    const auto other = k == 0 ? nullptr : store_->open(name_in_set(file_.path(), k, name_of_), Access::read);
    MetadataReader member(other ? *other : file_);
    if (member.header_.nfiles != header_.nfiles || member.header_.filenumber != k)
      member.damaged("is file " + std::to_string(member.header_.filenumber) + " of " +
                     std::to_string(member.header_.nfiles) + ", not file " + std::to_string(k) + " of " +
                     std::to_string(header_.nfiles));
    if (other && checking_ == Checking::on) require_same_open(extension(), member);
    const auto visit_ranks = [&](int64_t first, std::span<int64_t> ranks) {
      member.read_globalranks(first, ranks);
      layout::Placement place{k, static_cast<int32_t>(first)};
      for (const int64_t rank : ranks) {
        if (in_order || rank >= 0) visit(place, in_order ? number++ : rank);
        ++place.local_rank;
      }
    };
    layout::for_each_slice(0, member.header_.ntasks, metadata_constants::recovered_at_once, visit_ranks);
  }
}

int64_t MetadataReader::recover_mapping_size() {
  int64_t tasks = 0;
  for_each_rank([&](layout::Placement, int64_t) { ++tasks; });
  return tasks;
}

void MetadataReader::recover_mapping(int64_t first, std::span<layout::Placement> entries) {
  std::ranges::fill(entries, layout::Placement{-1, -1});
  for_each_rank([&](layout::Placement place, int64_t rank) {
    if (rank < first || rank - first >= std::ssize(entries)) return;
    layout::Placement& entry = entries[static_cast<size_t>(rank - first)];
    if (entry.file >= 0)
      damaged("two tasks of the set have the global rank " + std::to_string(rank) +
              "; it was not closed, and nothing else orders them");
    entry = place;
  });
  if (const auto missing = std::ranges::find(entries, -1, &layout::Placement::file); missing != entries.end())
    damaged("no task of the set has the global rank " + std::to_string(first + (missing - entries.begin())));
}

// Returns true if blocks of the file may have to be truncated. If checksums are verified, returns
// false, because the checksums show which bytes belong to the task.
bool MetadataReader::may_overrun(const format::Pointer& p) {
  return p.complete() && !(checking_ == Checking::on && extension() && extension()->checksums());
}

const std::vector<layout::CutBlock>& MetadataReader::find_overruns(const format::Pointer& p) {
  if (overruns_) return *overruns_;
  if (!may_overrun(p)) return overruns_.emplace();
  const int64_t n = header_.ntasks;
  if (n > max_tasks_of_overruns) damaged("blocks are larger than their chunks, in a file of too many tasks");
  std::vector<int64_t> chunks(static_cast<size_t>(n)), counts(chunks.size()), starts;
  read_chunk_sizes(0, chunks);
  read_block_counts(p, 0, counts);
  int64_t at = layout::data_start(n, header_.fsblksize);
  for (const int64_t chunk : chunks) {
    starts.push_back(at);
    at = must_fit(checked_add(at, chunk), "the sum of the chunk sizes");
  }
  const int64_t skip = at - starts.front();
  const int64_t table = block_sizes_offset(header_, p, 0), entries = n * p.maxblocks;
  layout::OverrunScan scan;
  std::vector<int64_t> sizes;
  for (int64_t first = 0; first < entries; first += std::ssize(sizes)) {
    // Skip holes, because the file may claim any number of blocks.
    first += std::max<int64_t>(0, (file_.next(Space::data, table + 8 * first) - table) / 8 - first);
    sizes.resize(static_cast<size_t>(std::clamp<int64_t>(entries - first, 0, overruns_read_at_once)));
    if (sizes.empty()) break;
    read_stored_block_sizes(p, first / n, first % n, sizes);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const int64_t entry = first + static_cast<int64_t>(i), round = entry / n;
      const auto task = static_cast<size_t>(entry % n);
      if (sizes[i] <= 0 || round >= counts[task]) continue;
      const auto start = checked_add(starts[task], round * skip);
      if (!start || !checked_add(*start, sizes[i])) damaged("a block ends beyond 2^63 bytes");
      scan.add(entry, *start, sizes[i], chunks[task]);
      if (scan.cut().size() > max_cut_blocks)
        damaged("more than " + std::to_string(max_cut_blocks) + " blocks are larger than their chunks");
    }
  }
  scan.end_at(p.varheader);
  overruns_ = std::move(scan.cut());
  if (!overruns_->empty()) {
    const auto& [entry, stored, own] = overruns_->front();
    add_warning(
        "'" + file_.path() + "': task " + std::to_string(entry % n) + " wrote beyond its chunk: of the " +
        std::to_string(stored) + " bytes of its block " + std::to_string(entry / n) + " the first " +
        std::to_string(own) + " are read, since others lie behind them" +
        (overruns_->size() > 1 ? " (" + std::to_string(overruns_->size()) + " such blocks in all)" : ""));
  }
  return *overruns_;
}

}  // namespace sheaf::multifile
