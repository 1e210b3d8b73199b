// cli/dump: the report of siondump, format by format (docs/tools/sheaf-dump.md).
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <unordered_map>

#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "multifile/keyval_check.hpp"
#include "multifile/usage.hpp"
#include "stripedfile/striped_store.hpp"

namespace sheaf::cli {

namespace {

const std::string dashes_60(60, '-');
const std::string dashes_155(155, '-');

double mb(int64_t bytes) { return static_cast<double>(bytes) / 1024.0 / 1024.0; }
double percent(int64_t part, int64_t whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}
const char* name_of(ByteOrder order) { return order == ByteOrder::big ? "big" : "little"; }

void print_header(const Multifile& m) {
  const format::Header& h = m.files.front().header;
  const int64_t flag1 = stored_flag1(h);
  std::printf("siondump: sid:                       %d\n", 0);
  std::printf("siondump: filename:                  %-30s\n", m.path.c_str());
  std::printf("siondump: prefix:                    %-30s\n", h.prefix.data());
  std::printf("siondump: number of tasks:           %" PRId64 "\n", m.ntasks());
  std::printf("siondump: current endianness:        %s\n", name_of(native_order));
  std::printf("siondump: file endianness:           %s\n", name_of(h.userdata_order));
  std::printf("siondump: filesystem blocksize:      %d bytes (%6.2f MB)\n", h.fsblksize, mb(h.fsblksize));
  std::printf("siondump: file set:                  %s\n", h.nfiles > 1 ? "Yes" : "No");
  std::printf("siondump: file number:               %d\n", h.filenumber);
  std::printf("siondump: number of files:           %d\n", h.nfiles);
  std::printf("siondump: flag1:                     %" PRId64 " (%d+%d)\n", flag1,
              static_cast<int32_t>(flag1 >> 32), static_cast<int32_t>(flag1 & 0xffffffff));
  std::printf("siondump: flag2:                     %" PRId64 "\n", h.flag2);
  std::printf("siondump: keyval:                    %d (%s)\n", static_cast<int>(h.keyval()),
              h.keyval() == format::KeyvalMode::inline_ ? "SION_KEYVAL_INLINE" : "SION_KEYVAL_NONE");
  std::printf("siondump: file format version:       %d\n", h.version);
  std::printf("siondump: file SIONlib version:      %d.%dp%d (current %d.%dp%d)\n", h.library / 1000,
              h.library % 1000, h.patch, format::library_version / 1000, format::library_version % 1000,
              format::library_patch);
  std::printf("siondump: number of blocks:           %" PRId64 "\n", m.maxblocks());
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

void print_usage(const Usage& u, int64_t fsblksize) {
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

// Size of a block as the table shows it: rounds that the task does not count are -1 in a set.
int64_t shown_size(const Multifile& m, const PhysicalFile& f, int64_t local_rank, int64_t block) {
  const bool counted = block < f.block_counts[static_cast<size_t>(local_rank)];
  if (m.is_set() && !counted) return -1;
  return f.block_sizes[static_cast<size_t>(block * f.header.ntasks + local_rank)];
}

void print_blocks(const Multifile& m, bool in_bytes) {
  std::vector<std::vector<int64_t>> chunks;
  for (const PhysicalFile& f : m.files) chunks.push_back(stored_chunk_sizes(f));
  constexpr int64_t per_group = 10;
  for (int64_t first = 0; first < m.maxblocks(); first += per_group) {
    const int64_t last = std::min(first + per_group, m.maxblocks());
    std::printf("\n%s\n%70s", dashes_155.c_str(), "");
    for (int64_t b = first; b < last; ++b) std::printf("BLK%03" PRId64 "    ", b);
    std::printf("\n");
    for (int64_t t = 0; t < m.ntasks(); ++t) {
      const layout::Placement at = m.place(t);
      const int64_t chunk = chunks[static_cast<size_t>(at.file)][static_cast<size_t>(at.local_rank)];
      const BlockSizes sizes = m.sizes_of(t);
      if (in_bytes)
        std::printf("Task %02" PRId64 ": size=%10" PRId64 " B glblrnk=%4" PRId64 " #blks=%2" PRId64
                    " lsz=%10" PRId64 " B: ",
                    t, sizes.total(), m.globalrank(t), int64_t{sizes.count}, chunk);
      else
        std::printf(
            "Task %02" PRId64 ": size=%8.2f MB glblrnk=%4" PRId64 " #blks=%2" PRId64 " lsz=%8.2f MB:   ", t,
            mb(sizes.total()), m.globalrank(t), int64_t{sizes.count}, mb(chunk));
      for (int64_t b = first; b < last; ++b) {
        const int64_t size = shown_size(m, m.file_of(t), at.local_rank, b);
        if (in_bytes)
          std::printf("%9" PRId64 " ", size);
        else
          std::printf("%6.2f MB ", mb(size));
      }
      std::printf("\n");
    }
    std::printf("\n%s\n", dashes_155.c_str());
  }
}

void print_keys(const Multifile& m) {
  struct Key {
    uint64_t key;
    int64_t records;
    int64_t bytes;
  };
  std::printf("%s\n", dashes_155.c_str());
  for (int64_t t = 0; t < m.ntasks(); ++t) {
    std::vector<Key> keys;  // in order of first appearance
    std::unordered_map<uint64_t, size_t> number;
    for_each_record(m, t, [&](const KeyvalRecord& record) {
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
  }
  std::printf("%s\n", dashes_155.c_str());
}

void print_records(const Multifile& m) {
  std::printf("%s\n", dashes_155.c_str());
  for (int64_t t = 0; t < m.ntasks(); ++t) {
    std::printf("Task %02" PRId64 ":", t);
    int64_t i = 0;
    for_each_record(m, t, [&](const KeyvalRecord& record) {
      if (i > 0 && i % 5 == 0) std::printf("\n       :");
      std::printf(" [%02" PRId64 ":k=<%" PRId64 ">,size=%" PRId64 "]", i++, static_cast<int64_t>(record.key),
                  record.length);
    });
    std::printf("\n");
  }
  std::printf("%s\n", dashes_155.c_str());
}

void print_set(const Multifile& m, const DumpOptions& options) {
  const auto nfiles = static_cast<int32_t>(m.files.size());
  std::printf("%s\n", dashes_60.c_str());
  std::printf("siondump: number of files:           %d\n", nfiles);
  const std::string prefix = m.files.front().header.prefix.data();
  for (int32_t k = 0; k < nfiles; ++k)
    std::printf("siondump: file %3d:                    %s \n", k + 1,
                format::physical_name(prefix, k).c_str());
  std::printf("%s\n", dashes_60.c_str());
  if (options.mapping) {
    std::printf("  mapping: ");
    for (int64_t t = 0; t < m.ntasks(); ++t) {
      if (t > 0 && t % 16 == 0) std::printf("\n        ");
      std::printf("[%05" PRId64 " -> (f%03d,t%03d)] ", t, m.place(t).file, m.place(t).local_rank);
    }
    std::printf("\n%s\n", dashes_60.c_str());
  }
  if (options.mapping_by_file) {
    std::vector<std::vector<int64_t>> members(m.files.size());
    for (int64_t t = 0; t < m.ntasks(); ++t) members[static_cast<size_t>(m.place(t).file)].push_back(t);
    for (int32_t k = 0; k < nfiles; ++k) {
      std::printf("  file[%03d]: ", k);
      for (const int64_t t : members[static_cast<size_t>(k)])
        std::printf("%2d:%05" PRId64 " ", m.place(t).local_rank, t);
      std::printf("\n");
    }
    std::printf("%s\n", dashes_60.c_str());
  }
}

int64_t bytes_held(const Multifile& m) {
  int64_t bytes = static_cast<int64_t>(sizeof m + m.mapping.size() * sizeof(layout::Placement));
  for (const PhysicalFile& f : m.files)
    bytes += static_cast<int64_t>(sizeof f + 8 * (f.block_sizes.size() + 4 * f.chunk_sizes.size()));
  return bytes;
}

}  // namespace

void dump_text(const Multifile& m, const DumpOptions& options) {
  print_header(m);
  if (options.internals)
    std::printf("siondump: sizeof internal struct:    %" PRId64 " bytes %zu file descriptors\n",
                bytes_held(m), m.files.size());
  print_usage(usage_of(m), m.files.front().header.fsblksize);
  if (options.blocks) print_blocks(m, options.bytes);
  if ((options.keys || options.records) && !has_records(m)) {
    std::fflush(stdout);
    std::fprintf(stderr, "'%s' is no key-value multifile: it has no keys to show\n", m.path.c_str());
  } else {
    if (options.keys) print_keys(m);
    if (options.records) print_records(m);
  }
  if (m.is_set()) print_set(m, options);
}

int dump(const DumpOptions& options) {
  raise_descriptor_limit();
  const Multifile m = load(options.path, options.checking);
  if (options.json)
    dump_json(m, options.records);
  else
    dump_text(m, options);
  return 0;
}

}  // namespace sheaf::cli
