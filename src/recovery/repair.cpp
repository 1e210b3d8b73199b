#include "recovery/repair.hpp"

#include <algorithm>
#include <functional>

#include "comm/agree.hpp"
#include "creation/copy_stream.hpp"
#include "creation/output_set.hpp"
#include "journal/journal_writer.hpp"
#include "layout/slices.hpp"
#include "metadata/edges_reader.hpp"
#include "recovery/hole_table.hpp"
#include "stream/file_checks.hpp"
#include "stream/plain_file.hpp"
#include "stream/task_blocks.hpp"

namespace sheaf {

using format::Pointer;

namespace {

constexpr int64_t repaired_at_once = 1 << 20;
constexpr int64_t pieces_at_once = 64;  // summed up before somebody may end the work

// One unclosed physical file, and its blocks as far as they can be told.
class UnclosedFile {
 public:
  UnclosedFile(Store& store, const std::string& path, const RepairRequest& request)
      : file_(store.open(path, Access::read)), reader_(store, *file_) {
    report_.path = path;
    report_.ntasks = reader_.header().ntasks;
    const auto unclosed = attempt([&] { pointer_ = reader_.read_pointer(); });
    if (unclosed && unclosed->code() != Code::unclosed) throw *unclosed;
    if (!unclosed && pointer_.complete()) {
      end_ = reader_.file_size();
    } else if (unclosed || request.holes || reader_.has_journal_gap() ||
               (pointer_.source == format::TableSource::nothing && holds_data())) {
      const bool unreported = !unclosed && !request.holes && pointer_.source == format::TableSource::nothing;
      use_holes(unreported, unclosed || request.holes ? std::nullopt : std::optional(pointer_));
      if (reader_.journal_lost())
        report_.unknown.emplace_back("what its tasks had reported: the journal '" +
                                     format::journal_name(path) + "' is lost");
      if (unreported && report_.source == RepairSource::holes)
        report_.unknown.emplace_back(
            "whether any of it is whole, or ended in zeros: no task had flushed or completed a chunk");
    } else {
      report_.source = pointer_.source == format::TableSource::journal    ? RepairSource::journal
                       : pointer_.source == format::TableSource::unmarked ? RepairSource::table
                                                                          : RepairSource::nothing;
      if (request.may_live && report_.source == RepairSource::journal) leave_room();
      end_ = report_.source == RepairSource::table ? reader_.file_size() : pointer_.varheader;
    }
    if (!is_complete()) whole_ = with_edges(store, file_, &edges_);
    report_.blocks = pointer_.maxblocks;
    has_trailer_ = report_.source == RepairSource::table &&
                   matches_trailer(reader_.file(), header(), pointer_, reader_.extension());
    if (!has_trailer_ && !is_complete() && reader_.extension() && reader_.extension()->checksums())
      report_.unknown.emplace_back(
          "whether the data are what was written: their checksums are made from what is there now");
    count_bytes();
  }

  const format::Header& header() const { return reader_.header(); }
  RepairedFile& report() { return report_; }
  bool is_complete() const { return report_.source == RepairSource::complete; }

  // Brings what the file holds in front of the block table into `target`, which is empty.
  void copy(File& target, WorkProgress& progress) {
    const int64_t bytes = std::min(end_, reader_.file_size());
    progress.begin(bytes);
    RangeCopier copier(target, progress);
    copier.add(*file_, 0, 0, bytes);
    copier.finish();
    // Compressed files had the magic of plain ones once. What is written now has its own.
    if (header().compressed && !header().encoded)
      MetadataWriter(target, header()).write_header(reader_.extension());
  }

  // Makes `target`, this file or a copy, complete.
  void make_complete(File& target, WorkProgress& progress) {
    if (is_complete()) return;
    const format::Header& h = header();
    MetadataWriter writer(target, h);
    if (report_.source != RepairSource::table) {
      // What is behind has not been reported by any task.
      target.resize(pointer_.varheader);
      for_each_slice([&](int64_t first, std::span<const int64_t> counts, auto&& size_of) {
        write_block_table(writer, pointer_, first, counts, size_of, 0);
      });
      bring_edges(target);
    }
    const int64_t mapping = write_mapping(writer);
    if (!has_trailer_) write_trailer(target, mapping, progress);
    target.sync();
    check_result(target, mapping);
    writer.write_pointer(pointer_);
    target.sync();
  }

  std::optional<format::Identity> identity() {
    const auto& extension = reader_.extension();
    return extension ? std::optional(extension->identity) : std::nullopt;
  }

  void close() { file_->close(); }

 private:
  // What is in `target` now, in front of the pointer: as long as that is not there, the journal counts.
  void check_result(File& target, int64_t mapping) {
    const Pointer complete{pointer_.maxblocks, pointer_.varheader};
    MetadataReader found(target, header());
    const auto require = [&](bool holds, const char* what) {
      if (!holds)
        found.damaged(std::string("the repair has failed: ") + what +
                      " cannot be read back as it was written");
    };
    if (report_.source != RepairSource::table) {
      for_each_slice([&](int64_t first, std::span<const int64_t> counts, auto&& size_of) {
        std::vector<int64_t> values(counts.size());
        found.read_block_counts(complete, first, values);
        require(std::ranges::equal(values, counts), "the block table");
        for (int64_t k = 0; k < complete.maxblocks; ++k) {
          found.read_block_sizes(complete, k, first, values);
          for (size_t t = 0; t < counts.size(); ++t)
            require(k >= counts[t] || values[t] == size_of(t, k), "the block table");
        }
      });
    }
    if (header().leads_set()) require(found.read_mapping_size(complete) == mapping, "the mapping");
    const auto& extension = reader_.extension();
    require(!extension || !extension->checksums() || matches_trailer(target, header(), complete, extension),
            "the trailer");
  }

  // Anything but zeros. Blocks of the file system that were never written need not be holes.
  bool holds_data() {
    const int64_t size = file_->status().size;
    std::vector<std::byte> bytes(64 << 10);
    for (int64_t at = layout::data_start(report_.ntasks, header().fsblksize); at < size;) {
      at = file_->next(Space::data, at);
      const size_t n = at < size ? file_->read_at(bytes, at) : 0;
      if (n == 0) return false;
      if (std::ranges::any_of(std::span(bytes).first(n), [](std::byte b) { return b != std::byte{}; }))
        return true;
      at += static_cast<int64_t>(n);
    }
    return false;
  }

  // `recorded`: what the journal tells of.
  void use_holes(bool unreported, const std::optional<Pointer>& recorded) {
    table_ = read_holes(reader_);
    report_.source = RepairSource::holes;
    pointer_.source = format::TableSource::nothing;
    if (const auto found = find_table(reader_, std::ssize(table_->rounds)); found) {
      report_.source = RepairSource::table;
      pointer_ = *found;
      pointer_.source = format::TableSource::unmarked;
      table_.reset();
      end_ = reader_.file_size();
      return;
    }
    report_.unknown = table_->unknown;
    if (unreported) leave_out_zeros(reader_, *table_);
    if (recorded && recorded->source == format::TableSource::journal) {
      add_records(reader_, *recorded, *table_);
      report_.unknown.emplace_back(
          "what tasks have written that went on without the journal: that is told by the holes");
    }
    const int64_t skip = lay_out().skip;
    pointer_.maxblocks = report_.ntasks == 0 ? 0 : static_cast<int32_t>(table_->rounds.size());
    if (header().compressed) leave_out_cut_frames(0, table_->counts, table_->rounds);
    end_ = pointer_.varheader = must_fit(
        layout::end_of_rounds(report_.ntasks, header().fsblksize, pointer_.maxblocks, skip), "the multifile");
  }

  // A task that has completed its last chunk is in the next one, and tells nobody before it leaves that.
  void leave_room() {
    ++pointer_.maxblocks;
    pointer_.varheader = must_fit(checked_add(pointer_.varheader, lay_out().skip), "the multifile");
  }

  layout::FileLayout lay_out() {
    std::vector<int64_t> sizes(static_cast<size_t>(report_.ntasks));
    reader_.read_chunk_sizes(0, sizes);
    return layout::lay_out(sizes, header().fsblksize);
  }

  // visit(offset, bytes, local rank) for every block.
  template <class Visit>
  void for_each_block(Visit&& visit) {
    const layout::FileLayout layout = lay_out();
    for_each_slice([&](int64_t first, std::span<const int64_t> counts, auto&& size_of) {
      for (size_t t = 0; t < counts.size(); ++t)
        for (int64_t b = 0; b < counts[t]; ++b) {
          const size_t task = static_cast<size_t>(first) + t;
          visit(layout.starts[task] + b * layout.skip, size_of(t, b), task);
        }
    });
  }

  // visit(first, counts, size_of) for slices of the tasks.
  template <class Visit>
  void for_each_slice(Visit&& visit) {
    const int64_t at_once = std::max<int64_t>(1, repaired_at_once / std::max(1, pointer_.maxblocks));
    std::vector<int64_t> counts;
    std::vector<std::vector<int64_t>> rounds(static_cast<size_t>(pointer_.maxblocks));
    for (int64_t first = 0; first < report_.ntasks; first += at_once) {
      const auto n = static_cast<size_t>(std::min(at_once, report_.ntasks - first));
      counts.resize(n);
      if (table_) {
        std::copy_n(table_->counts.begin() + first, n, counts.begin());
        visit(first, std::span<const int64_t>(counts), [&](size_t t, int64_t block) {
          return table_->rounds[static_cast<size_t>(block)][static_cast<size_t>(first) + t];
        });
        continue;
      }
      reader_.read_block_counts(pointer_, first, counts);
      for (int64_t k = 0; k < pointer_.maxblocks; ++k) {
        rounds[static_cast<size_t>(k)].resize(n);
        reader_.read_block_sizes(pointer_, k, first, rounds[static_cast<size_t>(k)]);
      }
      if (header().compressed) leave_out_cut_frames(first, counts, rounds);
      visit(first, std::span<const int64_t>(counts),
            [&](size_t t, int64_t block) { return rounds[static_cast<size_t>(block)][t]; });
    }
  }

  // A task that was killed may have stored a part of a frame, which readers take for damage in a complete
  // file.
  void leave_out_cut_frames(int64_t first, std::span<const int64_t> counts,
                            std::vector<std::vector<int64_t>>& rounds) {
    const layout::FileLayout places = lay_out();
    ReadStream stored;
    stored.set_max_buffer(4 << 10);
    for (size_t t = 0; t < counts.size(); ++t) {
      std::vector<int64_t> sizes;
      for (int64_t b = 0; b < counts[t]; ++b) sizes.push_back(rounds[static_cast<size_t>(b)][t]);
      const int64_t task = first + static_cast<int64_t>(t);
      const auto at = static_cast<size_t>(task);
      const int64_t end =
          at + 1 < places.starts.size() ? places.starts[at + 1] : places.data_start + places.skip;
      const layout::ChunkGeometry chunks{places.starts[at], places.skip, end - places.starts[at]};
      stored.load(whole_ ? whole_ : file_, chunks, {sizes.data(), static_cast<int32_t>(sizes.size())}, {});
      int64_t left = read_frames(stored, {task, chunks, true}).stored_bytes;
      for (int64_t b = 0; b < counts[t]; ++b) {
        int64_t& size = rounds[static_cast<size_t>(b)][t];
        size = std::min(size, left);
        left -= size;
      }
    }
  }

  void count_bytes() {
    for_each_slice([&](int64_t, std::span<const int64_t> counts, auto&& size_of) {
      for (size_t t = 0; t < counts.size(); ++t)
        for (int64_t b = 0; b < counts[t]; ++b) report_.data_bytes += size_of(t, b);
    });
  }

  // What hosts have kept beside the file.
  void bring_edges(File& target) {
    if (whole_ == file_) return;
    for_each_block(
        [&](int64_t offset, int64_t bytes, size_t) { copy_edges(*whole_, edges_, target, offset, bytes); });
  }

  // Returns the entries; -1: there is no such field.
  int64_t write_mapping(MetadataWriter& writer) {
    const format::Header& h = header();
    const bool serial = h.nfiles == 1 && h.filenumber == 1;
    if (serial) writer.write_mapping_size(pointer_, 0);  // as the serial writers of the format
    if (!h.leads_set()) return serial ? 0 : -1;
    const int64_t tasks = reader_.read_mapping_size(pointer_);
    writer.write_mapping_size(pointer_, static_cast<int32_t>(tasks));
    layout::for_each_slice<layout::Placement>(0, tasks, repaired_at_once,
                                              [&](int64_t first, std::span<layout::Placement> entries) {
                                                reader_.read_mapping(pointer_, first, entries);
                                                writer.write_mapping(pointer_, first, entries);
                                              });
    return tasks;
  }

  // The checksums of the data as they are: what was damaged since it was written cannot be told any more.
  void write_trailer(File& target, int64_t mapping, WorkProgress& progress) {
    const auto& extension = reader_.extension();
    if (!extension || !extension->checksums()) return;
    const format::Header& h = header();
    std::vector<int64_t> chunks(static_cast<size_t>(h.ntasks));
    reader_.read_chunk_sizes(0, chunks);
    const Pointer complete{pointer_.maxblocks, pointer_.varheader};
    const int64_t all = count_sums(target, h, complete, extension->piece);
    const format::Trailer plan = plan_trailer(h, complete, extension->identity, all, mapping);
    const int64_t at_once = pieces_at_once * extension->piece;
    std::vector<uint32_t> sums;
    TrailerWriter(target, h, plan, extension->piece).write_all(mapping, {}, [&](TrailerWriter& writer) {
      for_each_block([&](int64_t offset, int64_t used, size_t task) {
        const int64_t bytes = std::min(used, chunks[task]);
        for (int64_t done = 0; done < bytes; done += at_once) {
          const int64_t some = std::min(bytes - done, at_once);
          sums.resize(static_cast<size_t>(format::sums_of_block(some, some, extension->piece)));
          sum_pieces(target, offset + done, some, extension->piece, sums);
          writer.add_sums(std::as_bytes(std::span(sums)));
          progress.advance(0);
        }
      });
    });
  }

  std::shared_ptr<File> file_;
  layout::EdgeMap edges_;        // of the next
  std::shared_ptr<File> whole_;  // unclosed: with what hosts have kept beside it
  MetadataReader reader_;
  Pointer pointer_;
  std::optional<HoleTable> table_;
  bool has_trailer_ = false;  // that of the closed file
  int64_t end_ = 0;           // of what a copy needs
  RepairedFile report_;
};

}  // namespace

const char* name_of(RepairSource source) {
  static constexpr const char* names[] = {"complete", "journal", "nothing", "table", "holes"};
  return names[static_cast<size_t>(source)];
}

bool RepairReport::was_complete() const {
  return std::ranges::all_of(files, [](const RepairedFile& f) { return f.source == RepairSource::complete; });
}

RepairReport repair(Store& store, const std::string& path, const RepairRequest& request,
                    WorkProgress& progress) {
  const bool copies = !request.copy_to.empty();
  RepairReport report;
  report.path = path;
  int32_t nfiles = 1;
  {
    const auto lead = store.open(path, Access::read);
    MetadataReader reader(*lead);
    if (reader.header().leads_set()) nfiles = reader.header().nfiles;
  }
  OutputSet outputs(store, request.replace ? OutputSet::Existing::replace : OutputSet::Existing::refuse);
  // File 0, which everybody reads first, is the last to be completed.
  for (int32_t k = nfiles - 1; k >= 0; --k) {
    UnclosedFile file(store, format::physical_name(path, k), request);
    report.files.push_back(file.report());
    if (!request.dry_run) {
      if (copies) {
        const std::string name = format::physical_name(request.copy_to, k);
        const auto target = outputs.add(name, file.report().path);
        progress.begin_output(k, name);
        file.copy(*target, progress);
        file.make_complete(*target, progress);
        target->close();
      } else {
        if (!file.is_complete()) {
          const auto target = store.open(file.report().path, Access::write);
          file.make_complete(*target, progress);
          target->close();
        }
        if (const auto identity = file.identity()) remove_leftovers(store, file.report().path, identity);
      }
    }
    file.close();
  }
  if (copies && !request.dry_run) outputs.commit();
  std::ranges::reverse(report.files);
  return report;
}

}  // namespace sheaf
