// cli/classic/classic_copying: implements sionsplit and siondefrag, with the output lines of SIONlib's tools.
#include <fmt/format.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "base/printable.hpp"
#include "cli/classic/classic.hpp"
#include "cli/rows.hpp"
#include "cli/terminal.hpp"
#include "multifile/keyval/keyval_check.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/tools/usage.hpp"
#include "sfio/striped_store.hpp"

namespace sheaf::cli {

using multifile::BlockSizes;
using multifile::Multifile;
using multifile::Usage;

namespace {

constexpr size_t classic_width = 38;

std::string keyval_name(const format::Header& h) {
  return h.keyval() == format::KeyvalMode::inline_ ? "51 (SION_KEYVAL_INLINE)" : "50 (SION_KEYVAL_NONE)";
}

std::string usage_percent(const Usage& u) {
  const double part =
      u.chunk_bytes > 0 ? static_cast<double>(u.data_bytes) / static_cast<double>(u.chunk_bytes) : 0;
  return fmt::format("{:.6f}%", 100 * part);
}

int64_t largest_chunk(const Multifile& m) {
  int64_t largest = 0;
  for (const multifile::PhysicalFile& f : m.files) largest = std::max(largest, f.table->largest_chunk());
  return largest;
}

class SplitReport : public TerminalProgress {
 public:
  SplitReport(const Multifile& multifile)
      : TerminalProgress("sionsplit"), multifile_(multifile), rows_(multifile) {}

  void begin_output(int64_t task, const std::string& name) override {
    TerminalProgress::begin_output(task, name);
    print_rows(classic_width, {{"sionsplit: generating file:", name}});
    if (multifile::has_records(multifile_)) return;
    const BlockSizes& sizes = rows_.at(task).sizes;
    int64_t left = sizes.total();
    for (int64_t b = 0; b < sizes.count; ++b, check_signals()) {
      left -= sizes[b];
      std::printf("%-38s%" PRId64 " read left=%" PRId64 " \n", "sionsplit:", sizes[b], left);
      std::printf("%-38s%" PRId64 " wrote of left=%" PRId64 " \n", "sionsplit:", sizes[b], left);
    }
  }

 private:
  const Multifile& multifile_;
  multifile::TaskRows rows_;
};

class DefragReport : public TerminalProgress {
 public:
  DefragReport(const Multifile& multifile, bool verbose)
      : TerminalProgress("siondefrag"), multifile_(multifile), verbose_(verbose) {}

  void begin_output(int64_t task, const std::string& name) override {
    TerminalProgress::begin_output(task, name);
    multifile::for_each_row(multifile_, [&](int64_t t, const multifile::TaskRow& row) {
      const BlockSizes& sizes = row.sizes;
      if (!verbose_ && t % 16 == 0) std::printf("[%" PRId64 "]\n", t);
      for (int64_t b = 0; verbose_ && b < sizes.count; ++b)
        std::printf("siondefrag: task %" PRId64 " block %" PRId64 ": %" PRId64 " bytes\n", t, b, sizes[b]);
      check_signals();
    });
  }

 private:
  const Multifile& multifile_;
  bool verbose_;
};

}  // namespace

int classic_split(const SplitOptions& options) {
  const Multifile m = load(options.path, options.ignore_checksums);
  const format::Header& h = m.files.front().header;
  const Usage usage = multifile::usage_of(m);
  const std::string mask = options.request.prefix + "%0" + std::to_string(options.request.digits) + "d";
  print_rows(classic_width,
             {{"sionsplit: filename:", classic_name(options.path)},
              {"sionsplit: prefix:", classic_name(options.request.prefix)},
              {"sionsplit: sid:", std::to_string(0)},
              {"sionsplit: filename:", classic_name(options.path)},
              {"sionsplit: number of tasks:", std::to_string(m.ntasks())},
              {"sionsplit: number of files:", std::to_string(h.nfiles)},
              {"sionsplit: number of digits:", std::to_string(options.request.digits)},
              {"sionsplit: use global ranks:", std::to_string(options.request.global_ranks)},
              {"sionsplit: keyval:", keyval_name(h)},
              {"sionsplit: current endianness:", name_of(native_order)},
              {"sionsplit: file endianness:", name_of(h.userdata_order)},
              {"sionsplit: fsblksize:", classic_size(h.fsblksize)},
              {"sionsplit: max number of chunks:", std::to_string(m.maxblocks())},
              {"sionsplit: datasize in file (aggr.):", classic_size(usage.data_bytes)},
              {"sionsplit: start_of_varheader:", std::to_string(m.files.front().pointer.varheader)},
              {"sionsplit: size of file:", classic_size(m.files.front().file->status().size)},
              {"sionsplit: file usage:", usage_percent(usage)},
              {"sionsplit: filename mask:", mask},
              {"sionsplit: filename key mask:", mask + "_%012ld"},
              {"sionsplit: max chunksize:", classic_size(largest_chunk(m))}});
  catch_signals();
  SplitReport report(m);
  multifile::split(sfio::any_store(), m, options.request, report);
  return 0;
}

int classic_defrag(const DefragOptions& options, bool verbose) {
  const Multifile m = load(options.path, options.ignore_checksums);
  const format::Header& h = m.files.front().header;
  const Usage usage = multifile::usage_of(m);
  const int64_t fsblksize = options.request.fsblksize > 0 ? options.request.fsblksize : h.fsblksize;
  print_rows(classic_width,
             {{"siondefrag: infilename:", classic_name(options.path)},
              {"siondefrag: outfilename:", classic_name(options.request.output)},
              {"siondefrag: sid:", std::to_string(0)},
              {"siondefrag: filename:", classic_name(options.path)},
              {"siondefrag: nfiles:", std::to_string(h.nfiles)},
              {"siondefrag: fsblksize:", classic_size(h.fsblksize)},
              {"siondefrag: keyval:", keyval_name(h)},
              {"siondefrag: current endianness:", name_of(native_order)},
              {"siondefrag: file endianness:", name_of(h.userdata_order)},
              {"siondefrag: max number of blocks:", std::to_string(m.maxblocks())},
              {"siondefrag: datasize in file (aggr.):", classic_size(usage.data_bytes)},
              {"siondefrag: start_of_varheader:", std::to_string(m.files.front().pointer.varheader)},
              {"siondefrag: size of chunks:", classic_size(usage.chunk_bytes)},
              {"siondefrag: file usage:", usage_percent(usage)},
              {"siondefrag: max chunksize:", classic_size(largest_chunk(m))},
              {"siondefrag: outsid:", std::to_string(0)},
              {"siondefrag: fsblksize outfile:", classic_size(fsblksize)}});
  catch_signals();
  DefragReport report(m, verbose);
  multifile::defrag(sfio::any_store(), m, options.request, report);
  return 0;
}

}  // namespace sheaf::cli
