// cli/classic/classic_copying: sionsplit and siondefrag with the lines they have always printed.
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "base/printable.hpp"
#include "cli/classic/classic.hpp"
#include "cli/terminal.hpp"
#include "keyval/keyval_check.hpp"
#include "metadata/task_rows.hpp"
#include "stripedfile/striped_store.hpp"
#include "tools/usage.hpp"

namespace sheaf::cli {

namespace {

// Lines "TOOL: LABEL   VALUE", the value behind 38 columns, and in the form that siondump has for its kind.
class Lines {
 public:
  explicit Lines(const char* tool) : tool_(tool) {}
  void print(const char* label, const std::string& value) const {
    std::printf("%-38s%s\n", start(label).c_str(), printable(value).c_str());
  }
  void print(const char* label, int64_t value) const { print(label, std::to_string(value)); }
  void print_name(const char* label, const std::string& name) const {
    std::printf("%-38s%-30s\n", start(label).c_str(), printable(name).c_str());
  }
  void print_size(const char* label, int64_t bytes) const {
    const double megabytes = static_cast<double>(bytes) / (1 << 20);
    std::printf("%-38s%" PRId64 " bytes (%6.2f MB)\n", start(label).c_str(), bytes, megabytes);
  }

 private:
  std::string start(const char* label) const { return std::string(tool_) + ": " + label + ":"; }

  const char* tool_;
};

std::string keyval_name(const format::Header& h) {
  return h.keyval() == format::KeyvalMode::inline_ ? "51 (SION_KEYVAL_INLINE)" : "50 (SION_KEYVAL_NONE)";
}

std::string usage_percent(const Usage& u) {
  char text[32];
  const double part =
      u.chunk_bytes > 0 ? static_cast<double>(u.data_bytes) / static_cast<double>(u.chunk_bytes) : 0;
  std::snprintf(text, sizeof text, "%.6f%%", 100 * part);
  return text;
}

int64_t largest_chunk(const Multifile& m) {
  int64_t largest = 0;
  for (const PhysicalFile& f : m.files) largest = std::max(largest, f.table->largest_chunk());
  return largest;
}

class SplitReport : public TerminalProgress {
 public:
  SplitReport(const Multifile& multifile)
      : TerminalProgress("sionsplit"), multifile_(multifile), rows_(multifile) {}

  void begin_output(int64_t task, const std::string& name) override {
    TerminalProgress::begin_output(task, name);
    Lines("sionsplit").print("generating file", name);
    if (has_records(multifile_)) return;
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
  TaskRows rows_;
};

class DefragReport : public TerminalProgress {
 public:
  DefragReport(const Multifile& multifile, bool verbose)
      : TerminalProgress("siondefrag"), multifile_(multifile), verbose_(verbose) {}

  void begin_output(int64_t task, const std::string& name) override {
    TerminalProgress::begin_output(task, name);
    TaskRows rows(multifile_);
    for (int64_t t = 0; t < multifile_.ntasks(); ++t, check_signals()) {
      const BlockSizes& sizes = rows.at(t).sizes;
      if (!verbose_ && t % 16 == 0) std::printf("[%" PRId64 "]\n", t);
      for (int64_t b = 0; verbose_ && b < sizes.count; ++b)
        std::printf("siondefrag: task %" PRId64 " block %" PRId64 ": %" PRId64 " bytes\n", t, b, sizes[b]);
    }
  }

 private:
  const Multifile& multifile_;
  bool verbose_;
};

}  // namespace

int classic_split(const SplitOptions& options) {
  raise_descriptor_limit();
  const Multifile m = load(options.path, options.checking);
  const format::Header& h = m.files.front().header;
  const Usage usage = usage_of(m);
  const std::string mask = options.request.prefix + "%0" + std::to_string(options.request.digits) + "d";
  const Lines lines("sionsplit");
  lines.print_name("filename", options.path);
  lines.print_name("prefix", options.request.prefix);
  lines.print("sid", 0);
  lines.print_name("filename", options.path);
  lines.print("number of tasks", m.ntasks());
  lines.print("number of files", h.nfiles);
  lines.print("number of digits", options.request.digits);
  lines.print("use global ranks", options.request.global_ranks);
  lines.print("keyval", keyval_name(h));
  lines.print("current endianness", name_of(native_order));
  lines.print("file endianness", name_of(h.userdata_order));
  lines.print_size("fsblksize", h.fsblksize);
  lines.print("max number of chunks", m.maxblocks());
  lines.print_size("datasize in file (aggr.)", usage.data_bytes);
  lines.print("start_of_varheader", m.files.front().pointer.varheader);
  lines.print_size("size of file", m.files.front().file->status().size);
  lines.print("file usage", usage_percent(usage));
  lines.print("filename mask", mask);
  lines.print("filename key mask", mask + "_%012ld");
  lines.print_size("max chunksize", largest_chunk(m));
  catch_signals();
  SplitReport report(m);
  sheaf::split(any_store(), m, options.request, report);
  return 0;
}

int classic_defrag(const DefragOptions& options, bool verbose) {
  raise_descriptor_limit();
  const Multifile m = load(options.path, options.checking);
  const format::Header& h = m.files.front().header;
  const Usage usage = usage_of(m);
  const Lines lines("siondefrag");
  lines.print_name("infilename", options.path);
  lines.print_name("outfilename", options.request.output);
  lines.print("sid", 0);
  lines.print_name("filename", options.path);
  lines.print("nfiles", h.nfiles);
  lines.print_size("fsblksize", h.fsblksize);
  lines.print("keyval", keyval_name(h));
  lines.print("current endianness", name_of(native_order));
  lines.print("file endianness", name_of(h.userdata_order));
  lines.print("max number of blocks", m.maxblocks());
  lines.print_size("datasize in file (aggr.)", usage.data_bytes);
  lines.print("start_of_varheader", m.files.front().pointer.varheader);
  lines.print_size("size of chunks", usage.chunk_bytes);
  lines.print("file usage", usage_percent(usage));
  lines.print_size("max chunksize", largest_chunk(m));
  lines.print("outsid", 0);
  const int64_t fsblksize = options.request.fsblksize > 0 ? options.request.fsblksize : h.fsblksize;
  lines.print_size("fsblksize outfile", fsblksize);
  catch_signals();
  DefragReport report(m, verbose);
  sheaf::defrag(any_store(), m, options.request, report);
  return 0;
}

}  // namespace sheaf::cli
