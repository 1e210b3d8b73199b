// cli/dump: prints the report of `sheaf dump` and siondump, in the format of SIONlib's siondump
// (docs/tools/sheaf-dump.md).
#include <fmt/format.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <unordered_map>

#include "base/printable.hpp"
#include "cli/commands.hpp"
#include "cli/rows.hpp"
#include "cli/terminal.hpp"
#include "multifile/keyval/keyval_check.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/tools/usage.hpp"
#include "sfio/striped_store.hpp"

namespace sheaf::cli {

using multifile::for_each_place;
using multifile::for_each_row;
using multifile::KeyvalRecord;
using multifile::Multifile;
using multifile::PhysicalFile;
using multifile::TaskRow;

namespace {

const std::string dashes_60(60, '-');
const std::string dashes_155(155, '-');

double mb(int64_t bytes) { return static_cast<double>(bytes) / 1024.0 / 1024.0; }
double percent(int64_t part, int64_t whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void print_header(const Multifile& m) {
  const format::Header& h = m.files.front().header;
  const int64_t flag1 = multifile::stored_flag1(h);
  const auto version = [](int32_t library, int32_t patch) {
    return fmt::format("{}.{}p{}", library / 1000, library % 1000, patch);
  };
  constexpr size_t header_width = 37;
  print_rows(
      header_width,
      {{"siondump: sid:", "0"},
       {"siondump: filename:", classic_name(m.path)},
       {"siondump: prefix:", classic_name(h.prefix.data())},
       {"siondump: number of tasks:", std::to_string(m.ntasks())},
       {"siondump: current endianness:", name_of(native_order)},
       {"siondump: file endianness:", name_of(h.userdata_order)},
       {"siondump: filesystem blocksize:", classic_size(h.fsblksize)},
       {"siondump: file set:", h.nfiles > 1 ? "Yes" : "No"},
       {"siondump: file number:", std::to_string(h.filenumber)},
       {"siondump: number of files:", std::to_string(h.nfiles)},
       {"siondump: flag1:", fmt::format("{} ({}+{})", flag1, static_cast<int32_t>(flag1 >> 32),
                                        static_cast<int32_t>(flag1 & 0xffffffff))},
       {"siondump: flag2:", std::to_string(h.flag2)},
       {"siondump: keyval:",
        fmt::format("{} ({})", static_cast<int>(h.keyval()),
                    h.keyval() == format::KeyvalMode::inline_ ? "SION_KEYVAL_INLINE" : "SION_KEYVAL_NONE")},
       {"siondump: file format version:", std::to_string(h.version)},
       {"siondump: file SIONlib version:",
        fmt::format("{} (current {})", version(h.library, h.patch),
                    version(format::library_version, format::library_patch))},
       {"siondump: number of blocks:", " " + std::to_string(m.maxblocks())}});
}

void print_size(const char* label, int64_t bytes) {
  std::printf("siondump: %-38s %12" PRId64 " bytes  (%8.2f MB)\n", label, bytes, mb(bytes));
}

void print_chunks(const char* label, int64_t bytes, int64_t count) {
  std::printf("siondump: %-38s %12" PRId64 " bytes  (%8.2f MB) # %6" PRId64 "\n", label, bytes, mb(bytes),
              count);
}

void print_fsblocks(const char* label, int64_t bytes, int64_t count) {
  std::printf("siondump: %-38s %12" PRId64 " bytes  (%8.2f MB, %" PRId64 " blocks)\n", label, bytes,
              mb(bytes), count);
}

void print_usage(const multifile::Usage& u, int64_t fsblksize) {
  print_size("size of chunks:", u.chunk_bytes);
  print_size("datasize in file (aggr.):", u.data_bytes);
  print_chunks("size of full chunks:", u.full_bytes, u.full_chunks);
  print_chunks("size of partly filled chunks:", u.partly_bytes, u.partly_chunks);
  print_chunks("size of empty chunks:", u.empty_bytes, u.empty_chunks);
  print_size("overhead compared to task-local file:", u.chunk_bytes - u.data_bytes);
  if (u.chunk_bytes > 0)
    std::printf("siondump: file usage (user data/chunk size):   %14.6f%%\n",
                percent(u.data_bytes, u.chunk_bytes));

  const int64_t full = u.fsblocks_full * fsblksize;
  const int64_t partly = u.fsblocks_partly * fsblksize;
  const int64_t used = full + partly;
  print_fsblocks("fsblocks, size of used blocks:", used, u.fsblocks_full + u.fsblocks_partly);
  print_fsblocks("fsblocks, size of fully used blocks:", full, u.fsblocks_full);
  std::printf("siondump: %-38s %12" PRId64 " bytes of %12" PRId64 " bytes (%6.2f MB of %6.2f MB, %" PRId64
              " blocks)\n",
              "fsblocks, size of partly used blocks:", u.fsblocks_partly_bytes, partly,
              mb(u.fsblocks_partly_bytes), mb(partly), u.fsblocks_partly);
  if (u.chunk_bytes > 0)
    std::printf("siondump: fsblocks, used fsblocks/chunk size:   %14.6f%%\n", percent(used, u.chunk_bytes));
  if (used > 0)
    std::printf("siondump: fsblocks, user data/used blocks:      %14.6f%%\n", percent(u.data_bytes, used));
}

// The block sizes as the table shows them. For a block beyond a task's number of blocks, the table shows the
// stored value; if the multifile has several physical files, it shows -1. Only some blocks of some tasks are
// in memory at a time.
class ShownSizes {
 public:
  static constexpr int64_t rounds = 10;
  ShownSizes(const Multifile& m, int64_t first_round) : m_(m), first_round_(first_round) {}

  int64_t of(int64_t task, const TaskRow& row, int64_t block) {
    if (block < row.sizes.count) return row.sizes[block];
    const PhysicalFile& f = m_.files.front();
    if (m_.is_set() || block >= f.pointer.maxblocks) return -1;
    if (task < first_ || task >= first_ + tasks_) load(f, task);
    return stored_[static_cast<size_t>((block - first_round_) * tasks_ + task - first_)];
  }

 private:
  void load(const PhysicalFile& f, int64_t task) {
    constexpr int64_t tasks_at_once = 8 << 10;
    first_ = task;
    tasks_ = std::min(tasks_at_once, f.header.ntasks - task);
    const int64_t last = std::min<int64_t>(first_round_ + rounds, f.pointer.maxblocks);
    stored_.resize(static_cast<size_t>((last - first_round_) * tasks_));
    for (int64_t round = first_round_; round < last; ++round)
      f.table->read_stored_sizes(
          round, first_,
          std::span(stored_).subspan(static_cast<size_t>((round - first_round_) * tasks_),
                                     static_cast<size_t>(tasks_)));
  }

  const Multifile& m_;
  int64_t first_round_;
  int64_t first_ = 0;
  int64_t tasks_ = 0;
  std::vector<int64_t> stored_;  // [round][task]
};

void print_blocks(const Multifile& m, bool in_bytes) {
  std::printf("\n%s\n", dashes_155.c_str());
  for (int64_t first = 0; first < m.maxblocks(); first += ShownSizes::rounds) {
    const int64_t last = std::min(first + ShownSizes::rounds, m.maxblocks());
    std::printf("%70s", "");
    for (int64_t b = first; b < last; ++b) std::printf("BLK%03" PRId64 "    ", b);
    std::printf("\n");
    ShownSizes shown(m, first);
    for_each_row(m, [&](int64_t t, const TaskRow& row) {
      const int64_t total = row.sizes.total();
      if (in_bytes)
        std::printf("Task %02" PRId64 ": size=%10" PRId64 " B glblrnk=%4" PRId64 " #blks=%2" PRId64
                    " lsz=%10" PRId64 " B: ",
                    t, total, row.globalrank, int64_t{row.sizes.count}, row.stored_chunk);
      else
        std::printf(
            "Task %02" PRId64 ": size=%8.2f MB glblrnk=%4" PRId64 " #blks=%2" PRId64 " lsz=%8.2f MB:  ", t,
            mb(total), row.globalrank, int64_t{row.sizes.count}, mb(row.stored_chunk));
      for (int64_t b = first; b < last; ++b) {
        const int64_t size = shown.of(t, row, b);
        if (in_bytes)
          std::printf("%9" PRId64 " ", size);
        else
          std::printf(" %6.2f MB ", mb(size));
      }
      std::printf("\n");
    });
    std::printf("\n");
  }
  std::printf("%s\n", dashes_155.c_str());
}

void print_keys(const Multifile& m) {
  struct Key {
    uint64_t key;
    int64_t records;
    int64_t bytes;
  };
  std::printf("%s\n", dashes_155.c_str());
  for_each_row(m, [&](int64_t t, const TaskRow& row) {
    std::vector<Key> keys;  // in order of first appearance
    std::unordered_map<uint64_t, size_t> number;
    multifile::for_each_record(m, t, row, [&](const KeyvalRecord& record) {
      const auto [at, is_new] = number.try_emplace(record.key, keys.size());
      if (is_new) keys.push_back({record.key, 0, 0});
      Key& key = keys[at->second];
      ++key.records;
      key.bytes += record.length;
    });
    for (size_t i = 0; i < keys.size(); ++i)
      std::printf("Task %02" PRId64 ": key[%02zu]=%8" PRId64 ": #blocks=%6" PRId64 " totalsize=%10" PRId64
                  "\n",
                  t, i, static_cast<int64_t>(keys[i].key), keys[i].records, keys[i].bytes);
  });
  std::printf("%s\n", dashes_155.c_str());
}

void print_records(const Multifile& m) {
  std::printf("%s\n", dashes_155.c_str());
  for_each_row(m, [&](int64_t t, const TaskRow& row) {
    std::printf("Task %02" PRId64 ":", t);
    int64_t i = 0;
    multifile::for_each_record(m, t, row, [&](const KeyvalRecord& record) {
      if (i > 0 && i % 5 == 0) std::printf("\n       :");
      std::printf(" [%02" PRId64 ":k=<%" PRId64 ">,size=%" PRId64 "]", i++, static_cast<int64_t>(record.key),
                  record.length);
    });
    std::printf("\n");
  });
  std::printf("%s\n", dashes_155.c_str());
}

// Prints the tasks of each file. Each pass over the mapping covers several files. It prints the tasks of the
// first of these files at once, and holds those of the others in memory until the end of the pass.
void print_members(const Multifile& m) {
  constexpr int64_t max_held = 64 << 10;  // tasks
  std::vector<int64_t> counts(m.files.size());
  for_each_place(m, [&](int64_t, std::span<const layout::Placement> places) {
    for (const layout::Placement at : places) ++counts[static_cast<size_t>(at.file)];
  });
  for (size_t from = 0, to = 0; from < m.files.size(); from = to) {
    int64_t held = 0;
    for (to = from + 1; to < m.files.size() && held + counts[to] <= max_held; ++to) held += counts[to];
    std::vector<std::string> members(to - from);
    std::printf("  file[%03zu]: ", from);
    for_each_place(m, [&](int64_t task, std::span<const layout::Placement> places) {
      for (const layout::Placement at : places) {
        const auto k = static_cast<size_t>(at.file);
        if (k == from) {
          std::printf("%2d:%05" PRId64 " ", at.local_rank, task);
        } else if (k > from && k < to) {
          members[k - from] += fmt::format("{:2}:{:05} ", at.local_rank, task);
        }
        ++task;
      }
    });
    for (size_t k = from + 1; k < to; ++k) std::printf("\n  file[%03zu]: %s", k, members[k - from].c_str());
    std::printf("\n");
  }
}

void print_set(const Multifile& m, const DumpOptions& options) {
  const auto nfiles = static_cast<int32_t>(m.files.size());
  std::printf("%s\n", dashes_60.c_str());
  std::printf("siondump: number of files:           %d\n", nfiles);
  const std::string prefix = m.files.front().header.prefix.data();
  for (int32_t k = 0; k < nfiles; ++k)
    std::printf("siondump: file %3d:                    %s \n", k + 1,
                printable(format::physical_name(prefix, k)).c_str());
  std::printf("%s\n", dashes_60.c_str());
  if (options.mapping) {
    std::printf("  mapping: ");
    for_each_place(m, [](int64_t t, std::span<const layout::Placement> places) {
      for (const layout::Placement at : places) {
        std::printf("[%05" PRId64 " -> (f%03d,t%03d)] ", t++, at.file, at.local_rank);
        if (t % 16 == 0) std::printf("\n        ");
      }
    });
    std::printf("\n%s\n", dashes_60.c_str());
  }
  if (options.mapping_by_file) {
    print_members(m);
    std::printf("%s\n", dashes_60.c_str());
  }
}

// Returns the number of bytes of memory that the metadata uses.
int64_t bytes_of(const Multifile& m) {
  auto bytes = static_cast<double>(sizeof m) +
               static_cast<double>(m.set_tasks * static_cast<int64_t>(sizeof(layout::Placement)));
  for (const PhysicalFile& f : m.files)
    bytes += static_cast<double>(sizeof f) + 8.0 * f.header.ntasks * (4.0 + f.pointer.maxblocks);
  return static_cast<int64_t>(bytes);
}

}  // namespace

void dump_text(const Multifile& m, const DumpOptions& options) {
  print_header(m);
  if (options.internals)
    std::printf("siondump: sizeof internal struct:    %" PRId64 " bytes %zu file descriptors\n", bytes_of(m),
                m.files.size());
  print_usage(multifile::usage_of(m), m.files.front().header.fsblksize);
  if (options.blocks) print_blocks(m, options.bytes);
  if ((options.keys || options.records) && !multifile::has_records(m)) {
    std::fflush(stdout);
    std::fprintf(stderr, "'%s' is no key-value multifile: it has no keys to show\n",
                 printable(m.path).c_str());
  } else {
    if (options.keys) print_keys(m);
    if (options.records) print_records(m);
  }
  if (m.is_set()) print_set(m, options);
}

int dump(const DumpOptions& options) {
  const Multifile m = load(options.path, options.ignore_checksums);
  if (options.json)
    dump_json(m, options.records);
  else
    dump_text(m, options);
  return 0;
}

}  // namespace sheaf::cli
