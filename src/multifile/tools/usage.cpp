#include "multifile/tools/usage.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "layout/slices.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/stream/file_checks.hpp"
#include "multifile/tools/constants.hpp"

namespace sheaf::multifile {

namespace {

// Adds a task. Sums saturate at INT64_MAX: the chunks of several files may exceed 2^63 bytes in total,
// because every file counts with the largest number of rounds of any file.
void add_task(Usage& u, const TaskRow& row, int64_t rounds, int64_t fsblksize) {
  const int64_t chunk = row.stored_chunk;
  u.chunk_bytes = checked_mul_add(chunk, row.sizes.count, u.chunk_bytes).value_or(INT64_MAX);
  int64_t total = 0;
  int64_t used = 0;
  for (const auto [block, size] : row.sizes.used()) {
    ++used;
    total += size;
    (size == chunk ? u.full_bytes : u.partly_bytes) += size;
    (size == chunk ? u.full_chunks : u.partly_chunks) += 1;
    u.fsblocks_full += size / fsblksize;
    u.fsblocks_partly += size % fsblksize != 0;
    u.fsblocks_partly_bytes += size % fsblksize;
  }
  u.data_bytes += total;
  const int64_t unused = row.sizes.count - used;
  if (chunk == 0) u.full_chunks += unused;
  const int64_t empty = rounds - row.sizes.count + (chunk == 0 ? 0 : unused);
  u.empty_bytes = checked_mul_add(chunk, empty, u.empty_bytes).value_or(INT64_MAX);
  u.empty_chunks += empty;
}

// Calls visit(entry) for each of the `entries` entries of the mapping field of `f`. Also reads the field of a
// multifile of one file, which readers ignore.
template <class Visit>
void read_entries(const PhysicalFile& f, int64_t entries, Visit&& visit) {
  layout::for_each_slice<layout::Placement>(0, entries, metadata_constants::places_at_once,
                                            [&](int64_t first, std::span<layout::Placement> places) {
                                              f.table->read_mapping(first, places);
                                              for (const layout::Placement& at : places) visit(at);
                                            });
}

// Returns whether the entries name each task once. Tests tasks_at_once tasks at a time, with one bit each.
bool is_permutation(const PhysicalFile& f, int64_t entries) {
  std::vector<bool> seen;
  bool right = true;
  for (int64_t from = 0; right && from < entries; from += tools::tasks_at_once) {
    seen.assign(static_cast<size_t>(std::min(tools::tasks_at_once, entries - from)), false);
    read_entries(f, entries, [&](layout::Placement at) {
      right = right && at.local_rank < entries;
      const int64_t i = at.local_rank - from;
      if (!right || i < 0 || i >= std::ssize(seen)) return;
      right = !seen[static_cast<size_t>(i)];
      seen[static_cast<size_t>(i)] = true;
    });
  }
  return right;
}

}  // namespace

Usage usage_of(const Multifile& m) {
  Usage u;
  const int64_t rounds = m.maxblocks();
  const int64_t fsblksize = m.files.front().header.fsblksize;
  for_each_row(m, [&](int64_t t, const TaskRow& row) {
    const int64_t before = u.data_bytes;
    add_task(u, row, rounds, fsblksize);
    const int64_t bytes = u.data_bytes - before;
    if (t == 0 || bytes > u.largest.bytes) u.largest = {t, bytes};
    if (t == 0 || bytes < u.smallest.bytes) u.smallest = {t, bytes};
  });
  return u;
}

std::optional<int64_t> stored_mapping_size(const Multifile& m, size_t file) {
  const PhysicalFile& f = m.files[file];
  if (file == 0 && m.is_set()) return m.set_tasks;
  if (!f.pointer.complete()) return std::nullopt;
  const int64_t at = f.pointer.varheader + layout::meta2_size(f.header.ntasks, f.pointer.maxblocks);
  const int64_t rest = f.file->status().size - at;
  if (f.header.nfiles > 1 || rest < 4) return std::nullopt;
  MetadataReader reader(*f.file, f.header);
  std::optional<int64_t> plain_end;  // unknown without checksums
  attempt([&] {
    if (const FileChecks* const checks = reader.checks(f.pointer)) plain_end = checks->trailer().plain_end;
  });
  if (plain_end == at) return std::nullopt;
  std::array<std::byte, 4> bytes;
  f.file->read_at(bytes, at);
  const int64_t size = load<int32_t>(bytes.data(), f.header.metadata_order);
  if (size != 0 && (size != f.header.ntasks || rest < 4 + 8 * size)) return std::nullopt;
  bool right = false;
  attempt([&] { right = is_permutation(f, size); });
  return right ? std::optional(size) : std::nullopt;
}

void for_each_stored_entry(const Multifile& m, size_t file,
                           const std::function<void(layout::Placement)>& visit) {
  if (file == 0 && m.is_set()) {
    for_each_place(
        m, [&](int64_t, std::span<const layout::Placement> places) { std::ranges::for_each(places, visit); });
  } else {
    read_entries(m.files[file], stored_mapping_size(m, file).value_or(0), visit);
  }
}

}  // namespace sheaf::multifile
