// Determines the blocks of a file that was never closed, and of complete files in which tasks wrote beyond
// their chunks (docs/format.md, section 9).
#include <algorithm>

#include "base/bytes.hpp"
#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "multifile/metadata/boundary_blocks_reader.hpp"
#include "multifile/recover/unclosed_file.hpp"
#include "multifile/stream/file_checks.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

using format::Pointer;
using format::TableSource;

namespace {

// Returns true if the file has a nonzero byte at or after `at`. Reads allocated blocks, because they may
// contain only zeros.
bool holds_data(File& file, int64_t at) {
  const int64_t size = file.status().size;
  std::vector<std::byte> bytes(64 << 10);
  while (at < size) {
    at = file.next(Space::data, at);
    const size_t n = at < size ? file.read_at(bytes, at) : 0;
    if (n == 0) return false;
    if (!is_zero(std::span(bytes).first(n))) return true;
    at += static_cast<int64_t>(n);
  }
  return false;
}

RepairSource source_of(TableSource source) {
  return source == TableSource::journal    ? RepairSource::journal
         : source == TableSource::unmarked ? RepairSource::table
                                           : RepairSource::none;
}

// Returns true if a block of the slice is larger than its chunk.
bool has_overruns(BlockSlice& slice, MetadataReader& reader) {
  std::vector<int64_t> chunks(slice.counts.size());
  reader.read_chunk_sizes(slice.first, chunks);
  for (int64_t k = 0; k < slice.rounds; ++k)
    for (size_t t = 0; t < chunks.size(); ++t)
      if (slice.bytes(t, k) > chunks[t]) return true;
  return false;
}

}  // namespace

UnclosedFile::UnclosedFile(Store& store, const std::string& path, const RepairRequest& request)
    : store_(store),
      file_(store.open(path, Access::read)),
      reader_(store, *file_),
      identity_(request.identity) {
  file_->revalidate();  // this host may have cached an old size, if the writer died without a close
  reader_.file_size();  // stores the size, so that a copy of a complete file ends where the file ends now
  if (request.accept_loss) reader_.unclosed().accept_lost_records();
  report_.path = path;
  report_.ntasks = header().ntasks;
  find_source(request);
  report_.blocks = pointer_.maxblocks;
  if (!is_complete()) {
    whole_.file = with_boundary_blocks(store, file_, &whole_.boundary_blocks);
    has_trailer_ = report_.source == RepairSource::table &&
                   matches_trailer(*file_, header(), pointer_, reader_.extension());
    if (!has_trailer_ && reader_.extension() && reader_.extension()->checksums())
      report_.unknown.emplace_back(
          "whether the data are what was written: their checksums are made from what is there now");
  }
  bool overruns = false;
  for_each_found([&](BlockSlice& slice) {
    report_.data_bytes += slice.total();
    overruns |= is_complete() && has_overruns(slice, reader_);
  });
  if (overruns) leave_out_overruns();
  report_loss(request.accept_loss);
}

void UnclosedFile::find_source(const RepairRequest& request) {
  const auto unclosed = attempt([&] { pointer_ = reader_.read_pointer(); });
  if (unclosed && unclosed->code() != Code::unclosed) throw *unclosed;
  if (!unclosed && pointer_.complete()) return;
  if (unclosed || request.holes || reader_.unclosed().has_journal_gap() ||
      (pointer_.source == TableSource::none &&
       holds_data(*file_, layout::data_start(report_.ntasks, header().fsblksize))))
    return use_holes(request, unclosed ? std::nullopt : std::optional(pointer_));
  report_.source = source_of(pointer_.source);
  // The block table gets room for one more round. A task that has completed its last recorded chunk writes to
  // the next chunk, and may record nothing until that chunk is complete.
  if (request.may_live && report_.source == RepairSource::journal) {
    ++pointer_.maxblocks;
    pointer_.varheader = must_fit(checked_add(pointer_.varheader, chunks().layout.skip), "the multifile");
  }
}

// Determines the blocks from the holes. `told` is the result of read_pointer(), if it succeeded.
// `request.holes` ignores the journal unless the file contains a block table.
void UnclosedFile::use_holes(const RepairRequest& request, const std::optional<Pointer>& told) {
  // If no task has recorded any data, each stream ends at its first gap.
  const bool unreported = told && !request.holes && told->source == TableSource::none;
  const bool recorded = told && told->source == TableSource::journal;
  table_ = read_holes(reader_, chunks());
  report_.source = RepairSource::holes;
  pointer_.source = TableSource::none;
  if (const auto found = find_table(reader_, chunks(), table_->blocks())) {
    use_stored_table(*found, recorded ? told : std::nullopt);
  } else {
    report_.unknown = table_->unknown;
    if (unreported) leave_out_zeros(reader_, chunks(), *table_);
    if (recorded && !request.holes) {
      add_records(reader_, *told, *table_);
      report_.unknown.emplace_back(
          "what tasks have written that went on without the journal: that is told by the holes");
    }
  }
  if (table_) {
    pointer_.maxblocks = report_.ntasks == 0 ? 0 : static_cast<int32_t>(table_->blocks());
    pointer_.varheader = must_fit(
        layout::end_of_rounds(report_.ntasks, header().fsblksize, pointer_.maxblocks, chunks().layout.skip),
        "the multifile");
  }
  if (reader_.unclosed().journal_lost())
    report_.unknown.emplace_back("what its tasks had reported: the journal '" +
                                 format::journal_name(report_.path) + "' is lost");
  if (unreported && report_.source == RepairSource::holes)
    report_.unknown.emplace_back(
        "whether any of it is whole, or ended in zeros: no task had flushed or completed a chunk");
}

// Uses the block table at `found` in the file, and the journal that `recorded` describes, if any. If the
// program was appending, the table is from before the append.
void UnclosedFile::use_stored_table(const Pointer& found, const std::optional<Pointer>& recorded) {
  const HoleTable before = recorded ? read_table(reader_, found) : HoleTable{};
  table_ = before;
  if (recorded) add_records(reader_, *recorded, *table_);
  if (table_->counts == before.counts && table_->rounds == before.rounds) {
    report_.source = RepairSource::table;
    pointer_ = {found.maxblocks, found.varheader, TableSource::unmarked};
    table_.reset();
    return;
  }
  report_.source = RepairSource::journal;
  report_.unknown.emplace_back(
      "what tasks have appended and not recorded: the block table from before the append is in the way of "
      "the holes");
}

// Reports the bytes that tasks of a complete file wrote beyond their chunks; readers leave these bytes out.
// Also marks the file as guessed, because it is not known which task wrote the bytes there last.
void UnclosedFile::leave_out_overruns() {
  const auto& cut = reader_.find_overruns(pointer_);
  if (cut.empty()) return;
  int64_t bytes = 0;
  for (const layout::CutBlock& block : cut) bytes = saturated_add(bytes, block.stored - block.own);
  report_.data_bytes -= bytes;
  report_.guessed = true;
  report_.guessed_ends = std::ssize(cut);
  report_.unknown.push_back(
      "what " + std::to_string(bytes) + " bytes were, the first ones of local task " +
      std::to_string(cut.front().entry % report_.ntasks) +
      ": the task wrote them beyond its chunk, where other data or tables lie, which it "
      "may have overwritten");
}

// Reports data that are lost or guessed. Throws damaged if recorded bytes are missing and that is not
// accepted.
void UnclosedFile::report_loss(bool is_accepted) {
  const JournalDamage damage = reader_.unclosed().journal_damage();
  if (damage.lost > 0)
    report_.unknown.push_back("where the streams of " + std::to_string(damage.lost) +
                              " task(s) end, the first one being local task " +
                              std::to_string(damage.first_lost) +
                              ": records of the journal are damaged, and those before them count");
  if (report_.source == RepairSource::holes) {
    report_.guessed_ends = table_->guessed_ends;
    report_.guessed = report_.data_bytes > 0;
  }
  report_.guessed |= damage.lost > 0 || missing_ > 0;
  if (missing_ == 0) return;
  if (!is_accepted)
    reader_.damaged(
        "the file is shorter than its journal says: " + std::to_string(missing_) +
        " bytes that its tasks had recorded are not in it (was it cut off, or copied in part?); a "
        "repair that is forced keeps what is there");
  report_.unknown.emplace_back(std::to_string(missing_) +
                               " bytes that tasks had recorded: the file is shorter than its journal says, "
                               "and they are left out");
}

}  // namespace sheaf::multifile
