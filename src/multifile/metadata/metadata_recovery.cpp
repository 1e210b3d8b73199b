// Recovers the metadata of files that were never closed.
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
using metadata_constants::recovered_at_once;

namespace {

// Returns the pointer of a file that was not closed, which contains the marks of its journal.
Pointer read_marks(const MetadataReader& reader) {
  std::array<std::byte, format::pointer_size> bytes{};
  reader.file().read_at(bytes, reader.header().pointer_offset());
  return format::decode_pointer(bytes, reader.header().metadata_order);
}

// Returns advice for error messages. Advises a repair only if no program is writing the file.
std::string what_to_do(Store* store, const std::string& path) {
  const LeaseView view = store ? look_at_lease(*store, path) : LeaseView{};
  if (view.holder == Holder::living) return view.job() + " is writing it";
  return "`sheaf repair` recovers what can be told from the file alone";
}

void warn_of_damage(const JournalDamage& found, const std::string& path) {
  if (!found) return;
  const std::string what =
      found.lost > 0
          ? std::to_string(found.lost) + " record(s) are lost, the first one of local task " +
                std::to_string(found.first_lost) + ": where the streams of these tasks end is not known"
      : found.corrected > 0
          ? std::to_string(found.corrected) + " record(s) had a wrong bit, which was corrected"
          : "its header is destroyed";
  add_warning("the journal of '" + path + "' is damaged: " + what);
}

}  // namespace

// Returns false if the file cannot have a journal. If it can have one but has none, returns true and leaves
// journal_ null. Later reads of the file return bytes at least as new as the journal.
bool UnclosedMetadata::open_journal() {
  reader_.file().drop_prefetched(0);  // a close may complete the file before it removes the journal
  const auto own = store_ ? reader_.extension() : std::nullopt;
  if (own)
    journal_ = JournalReader::open(*store_, reader_.file().path(), reader_.header(), *own, lost_records_);
  return journal_ || (own && (own->flags & format::flag_journal));
}

bool UnclosedMetadata::is_pointer_torn() {
  if (!pointer_in_trailer(reader_.file(), reader_.extension())) return false;
  open_journal();
  return journal_ != nullptr;
}

bool UnclosedMetadata::has_journal_gap() {
  return format::has_journal_gap(read_marks(reader_)) ||
         (store_ &&
          store_->status(format::journal_gap_name(place_beside(*store_, reader_.file().path()))).exists);
}

void UnclosedMetadata::lose_journal() {
  journal_lost_ = true;
  throw file_error(
      Code::unclosed, reader_.file().path(),
      "the multifile was never closed, and its journal '" + format::journal_name(reader_.file().path()) +
          "' is " + (journal_ ? "another one or destroyed" : "missing") +
          ", which tells what its tasks had written (was the file copied or moved without it?); " +
          what_to_do(store_, reader_.file().path()));
}

// Opens the journal. Returns the pointer instead if the file was closed in the meantime: a close writes the
// pointer, then removes the journal. If the file cannot have a journal, or no task has made it, journal_
// stays null.
std::optional<Pointer> UnclosedMetadata::open_journal_unless_closed() {
  const bool possible = open_journal();
  if (journal_) return std::nullopt;
  if (const auto stored = reader_.read_stored_pointer()) return stored;
  if (!possible)
    throw file_error(Code::unclosed, reader_.file().path(),
                     "the multifile was never closed: its block table is missing, and there is no journal (" +
                         what_to_do(store_, reader_.file().path()) + ")");
  if (!format::is_marked(read_marks(reader_))) return std::nullopt;
  open_journal();  // repeated: a task may have created the journal since the first call
  if (journal_) return std::nullopt;
  const auto stored = reader_.read_stored_pointer();
  if (!stored) lose_journal();
  return stored;
}

Pointer UnclosedMetadata::recover_pointer() {
  if (const auto closed = open_journal_unless_closed()) return *closed;
  const format::Header& h = reader_.header();
  const int64_t skip = reader_.visit_chunk_sizes(recovered_at_once, [](int64_t, std::span<const int64_t>) {});
  if (!journal_)
    if (const auto found = find_unmarked_table(skip)) return *found;
  const int64_t most = h.ntasks == 0 ? 0 : journal_ ? journal_->max_blocks() : 1;
  if (journal_) {
    if (!journal_->found_records() &&
        (format::is_marked(read_marks(reader_)) || !journal_->damage().headers.empty()))
      lose_journal();
    warn_of_damage(journal_->damage(), reader_.file().path());
  }
  const auto end = layout::end_of_rounds(h.ntasks, h.fsblksize, most, skip);
  if (!end || most > INT32_MAX)
    reader_.damaged("its journal speaks of " + std::to_string(most) + " blocks, more than a file can hold");
  return {static_cast<int32_t>(most), *end, journal_ ? TableSource::journal : TableSource::none};
}

// Finds a complete block table at the end of a file without a journal. If there is one, all data are written,
// and the program died in the last step of its close, before it wrote the pointer.
std::optional<Pointer> UnclosedMetadata::find_unmarked_table(int64_t skip) {
  const format::Header& h = reader_.header();
  const int64_t n = h.ntasks;
  if (const auto p = pointer_in_trailer(reader_.file(), reader_.extension());
      p && matches_trailer(reader_.file(), h, *p, reader_.extension()))
    return Pointer{p->maxblocks, p->varheader, TableSource::unmarked};
  const int64_t begin = layout::data_start(n, h.fsblksize);
  const auto round = checked_add(skip, 8 * n);
  if (n == 0 || !round || reader_.file_size() < begin + 8 * n) return std::nullopt;
  const int64_t most = (reader_.file_size() - begin - 8 * n) / *round;
  for (int64_t blocks = most; blocks >= std::max<int64_t>(1, most - 1) && blocks <= INT32_MAX; --blocks) {
    const Pointer p{static_cast<int32_t>(blocks), begin + blocks * skip};
    int64_t largest = 0;
    if (unless_damaged([&] {
          layout::for_each_slice(0, n, recovered_at_once, [&](int64_t first, std::span<int64_t> counts) {
            reader_.read_block_counts(p, first, counts);
            largest = std::max(largest, std::ranges::max(counts));
          });
        }) &&
        largest == blocks)
      return Pointer{p.maxblocks, p.varheader, TableSource::unmarked};
  }
  return std::nullopt;
}

// Returns the pointer to the block table of a file that was unclosed when `p` was recovered. The file has a
// table if find_unmarked_table() found one, or if it was closed later, which removed the journal. Returns
// nullopt if there is no table or the journal still exists. Throws `unclosed` if the journal was removed and
// no close has written a pointer.
std::optional<Pointer> UnclosedMetadata::table_of(const Pointer& p) {
  if (p.source == TableSource::unmarked) return Pointer{p.maxblocks, p.varheader};
  if (p.source == TableSource::none || journal_) return std::nullopt;
  if (closed_) return closed_;
  open_journal();
  if (journal_) return std::nullopt;
  closed_ = reader_.read_stored_pointer();
  if (!closed_)
    throw file_error(Code::unclosed, format::journal_name(reader_.file().path()),
                     "the journal was removed while it was in use");
  return closed_;
}

void UnclosedMetadata::read_block_counts(const Pointer& p, int64_t first, std::span<int64_t> values) {
  if (const auto table = table_of(p)) {
    reader_.read_block_counts(*table, first, values);
    for (int64_t& count : values) count = std::min<int64_t>(count, p.maxblocks);
  } else if (p.source == TableSource::none) {
    std::ranges::fill(values, 1);
  } else {
    journal_->read_counts(first, p.maxblocks, values);
  }
}

void UnclosedMetadata::read_block_sizes(const Pointer& p, int64_t round, int64_t first,
                                        std::span<int64_t> values) {
  if (const auto table = table_of(p)) return reader_.read_block_sizes(*table, round, first, values);
  // Values for more than one round are requested only for all tasks of the file.
  for (; !values.empty(); ++round) {
    const auto row =
        values.first(std::min(values.size(), static_cast<size_t>(reader_.header().ntasks - first)));
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
void UnclosedMetadata::for_each_rank(const std::function<void(layout::Placement, int64_t rank)>& visit) {
  const auto& extension = reader_.extension();
  const bool in_order = extension && extension->in_order();
  const int32_t nfiles = reader_.header().nfiles;
  int64_t number = 0;
  for (int32_t k = 0; k < nfiles; ++k) {
    const auto other =
        k == 0 ? nullptr : store_->open(name_in_set(reader_.file().path(), k, name_of_), Access::read);
    MetadataReader member(other ? *other : reader_.file());
    const format::Header& h = member.header();
    if (h.nfiles != nfiles || h.filenumber != k)
      member.damaged("is file " + std::to_string(h.filenumber) + " of " + std::to_string(h.nfiles) +
                     ", not file " + std::to_string(k) + " of " + std::to_string(nfiles));
    if (other && checking_ == Checking::on) require_same_open(extension, member);
    layout::for_each_slice(0, h.ntasks, recovered_at_once, [&](int64_t first, std::span<int64_t> ranks) {
      member.read_globalranks(first, ranks);
      layout::Placement place{k, static_cast<int32_t>(first)};
      for (const int64_t rank : ranks) {
        if (in_order || rank >= 0) visit(place, in_order ? number++ : rank);
        ++place.local_rank;
      }
    });
  }
}

int64_t UnclosedMetadata::read_mapping_size() {
  int64_t tasks = 0;
  for_each_rank([&](layout::Placement, int64_t) { ++tasks; });
  return tasks;
}

void UnclosedMetadata::read_mapping(int64_t first, std::span<layout::Placement> entries) {
  std::ranges::fill(entries, layout::Placement{-1, -1});
  for_each_rank([&](layout::Placement place, int64_t rank) {
    if (rank < first || rank - first >= std::ssize(entries)) return;
    layout::Placement& entry = entries[static_cast<size_t>(rank - first)];
    if (entry.file >= 0)
      reader_.damaged("two tasks of the set have the global rank " + std::to_string(rank) +
                      "; it was not closed, and nothing else orders them");
    entry = place;
  });
  if (const auto missing = std::ranges::find(entries, -1, &layout::Placement::file); missing != entries.end())
    reader_.damaged("no task of the set has the global rank " +
                    std::to_string(first + (missing - entries.begin())));
}

}  // namespace sheaf::multifile
