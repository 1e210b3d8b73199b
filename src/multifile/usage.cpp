#include "multifile/usage.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "multifile/file_checks.hpp"

namespace sheaf {

namespace {

// Chunks of several files, and rounds that only some have, may add up to more than 2^63 bytes: the sum stays there.
void grow(int64_t& sum, int64_t chunk, int64_t rounds) {
  const auto bytes = checked_mul(chunk, rounds);
  sum = (bytes ? checked_add(sum, *bytes) : std::nullopt).value_or(INT64_MAX);
}

void add_task(Usage& u, const BlockSizes& sizes, int64_t chunk, int64_t rounds, int64_t fsblksize) {
  grow(u.chunk_bytes, chunk, sizes.count);
  for (int64_t b = 0; b < sizes.count; ++b) {
    const int64_t size = sizes[b];
    u.data_bytes += size;
    if (size == chunk) {
      u.full_bytes += size;
      ++u.full_chunks;
    } else if (size > 0) {
      u.partly_bytes += size;
      ++u.partly_chunks;
    } else {
      grow(u.empty_bytes, chunk, 1);
      ++u.empty_chunks;
    }
    u.fsblocks_full += size / fsblksize;
    u.fsblocks_partly += size % fsblksize != 0;
    u.fsblocks_partly_bytes += size % fsblksize;
  }
  grow(u.empty_bytes, chunk, rounds - sizes.count);
  u.empty_chunks += rounds - sizes.count;
}

}  // namespace

Usage usage_of(const Multifile& m) {
  std::vector<std::vector<int64_t>> chunks;
  for (const PhysicalFile& f : m.files) chunks.push_back(stored_chunk_sizes(f));
  Usage u;
  const int64_t rounds = m.maxblocks();
  const int64_t fsblksize = m.files.front().header.fsblksize;
  for (int64_t t = 0; t < m.ntasks(); ++t) {
    const layout::Placement at = m.place(t);
    add_task(u, m.sizes_of(t), chunks[static_cast<size_t>(at.file)][static_cast<size_t>(at.local_rank)],
             rounds, fsblksize);
  }
  return u;
}

std::vector<int64_t> stored_chunk_sizes(const PhysicalFile& f) {
  if (f.header.version >= 4) return f.chunk_sizes;
  std::vector<int64_t> sizes(f.chunk_sizes.size());
  const auto bytes = std::as_writable_bytes(std::span(sizes));
  if (f.file->read_at(bytes, f.header.chunksizes_offset()) != bytes.size())
    throw file_error(Code::damaged, f.path(), "truncated inside the chunk sizes");
  if (f.header.metadata_order != native_order) format::decode(bytes, f.header.metadata_order, sizes);
  return sizes;
}

std::optional<std::vector<layout::Placement>> stored_mapping(const Multifile& m, size_t file) {
  const PhysicalFile& f = m.files[file];
  if (file == 0 && m.is_set()) return m.mapping;
  if (!f.pointer.complete()) return std::nullopt;
  const int64_t at = f.pointer.varheader + layout::meta2_size(f.header.ntasks, f.pointer.maxblocks);
  const int64_t rest = f.file->status().size - at;
  if (f.header.nfiles > 1 || rest < 4) return std::nullopt;
  MetadataReader reader(*f.file, f.header);
  std::optional<int64_t> plain_end;  // as far as it is known
  attempt([&] {
    if (const FileChecks* const checks = reader.checks(f.pointer)) plain_end = checks->trailer().plain_end;
  });
  if (plain_end == at) return std::nullopt;
  std::array<std::byte, 4> bytes;
  f.file->read_at(bytes, at);
  const int64_t size = load<int32_t>(bytes.data(), f.header.metadata_order);
  if (size != 0 && (size != f.header.ntasks || rest < 4 + 8 * size)) return std::nullopt;
  std::vector<layout::Placement> entries(static_cast<size_t>(size));
  std::vector<char> seen(entries.size());
  try {
    reader.read_mapping(f.pointer, 0, entries);
  } catch (const Error&) {
    return std::nullopt;
  }
  for (const layout::Placement& e : entries)
    if (e.local_rank >= size || std::exchange(seen[static_cast<size_t>(e.local_rank)], 1))
      return std::nullopt;
  return entries;
}

}  // namespace sheaf
