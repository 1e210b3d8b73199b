#include "multifile/metadata/metadata_io.hpp"

#include <algorithm>

#include "base/warnings.hpp"
#include "comm/agree.hpp"
#include "format/codec/codec.hpp"
#include "multifile/metadata/constants.hpp"
#include "storage/decorators/watched_file.hpp"

namespace sheaf::multifile {

using format::Header;
using format::Pointer;
using namespace metadata_constants;

namespace {

int64_t regular_size(File& file) {
  const FileStatus status = file.status();
  if (status.is_special)
    throw file_error(Code::invalid_argument, file.path(), "is a device, not a regular file");
  return status.size;
}

// Prefetches all of a small file, or the beginning of a large one.
void prefetch_head(File& file) {
  const int64_t size = file.traits().opened_size;
  const bool large = size > prefetched_at_once;
  file.prefetch(0, large ? prefetched_head : prefetched_at_once);
}

Header read_header(File& file) {
  try {
    prefetch_head(file);
    std::array<std::byte, format::fixed_size> bytes;
    const size_t got = file.read_at(bytes, 0);
    Header h = format::decode_header(std::span(bytes).first(got), file.path());
    h.compressed = h.version >= 5 && format::says_compressed(std::span(bytes).first(got));
    h.guessed = h.version >= 5 && format::says_guessed(std::span(bytes).first(got));
    return h;
  } catch (const Error&) {
    regular_size(file);  // for a device, throws a more precise error
    throw;
  }
}

}  // namespace

MetadataReader::MetadataReader(File& file, Store* store, Checking checking, NameOf name_of)
    : file_(file),
      opened_size_(file.traits().opened_size),
      header_(read_header(file)),
      checking_(checking),
      unclosed_(*this, store, checking, std::move(name_of)) {
  if (!reaches(header_.globalranks_offset() + 16 * int64_t{header_.ntasks}))
    damaged("the header claims " + std::to_string(header_.ntasks) + " tasks, but the file has only " +
            std::to_string(file_size()) + " bytes");
}

int64_t MetadataReader::file_size() {
  if (file_size_ < 0) file_size_ = regular_size(file_);
  return file_size_;
}

bool MetadataReader::reaches(int64_t end) {
  if (end <= std::max(opened_size_, file_size_)) return true;
  file_size_ = regular_size(file_);
  if (end <= file_size_) return true;
  file_.revalidate();  // this host may have cached an old size of the file
  file_size_ = regular_size(file_);
  return end <= file_size_;
}

std::optional<Pointer> MetadataReader::read_stored_pointer() {
  std::array<std::byte, format::pointer_size> bytes{};
  const bool present = file_.read_at(bytes, header_.pointer_offset()) == bytes.size();
  const Pointer p = format::decode_pointer(bytes, header_.metadata_order);
  if (!present || p.varheader == 0 || (format::is_marked(p) && extension())) return std::nullopt;
  // Without tasks, no other value in the file limits the number of blocks.
  if (p.maxblocks < (header_.ntasks > 0) || p.maxblocks > (header_.ntasks > 0 ? INT32_MAX : 1) ||
      p.varheader < layout::data_start(header_.ntasks, header_.fsblksize))
    damaged("impossible block table: " + std::to_string(p.maxblocks) + " blocks, table at offset " +
            std::to_string(p.varheader));
  const auto end = checked_mul_add(8 * int64_t{header_.ntasks}, 1 + int64_t{p.maxblocks}, p.varheader);
  if (!end || !reaches(*end))
    damaged("truncated: the block table at offset " + std::to_string(p.varheader) + " with " +
            std::to_string(p.maxblocks) + " blocks does not fit into " + std::to_string(file_size()) +
            " bytes");
  prefetch_tables(p);
  file_size_ = -1;  // the pointer is written after all other bytes, so the size is final now
  return p;
}

// Prefetches META2 and the trailer. Without checksums, nothing would show that a table was prefetched before
// the pointer was written, so this request follows the one that has found the pointer.
void MetadataReader::prefetch_tables(const Pointer& p) {
  if (!(checking_ == Checking::on && extension() && extension()->checksums()))
    file_.drop_prefetched(header_.pointer_offset() + format::pointer_size);
  const int64_t meta1 = header_.pointer_offset() + format::pointer_size;
  const int64_t groups = format::group_entry_size * format::groups_of(header_.ntasks);
  const int64_t tables = layout::meta2_size(header_.ntasks, p.maxblocks) + groups;
  const int64_t rest = std::max(opened_size_, file_size_) - p.varheader;
  if (meta1 <= prefetched_at_once) file_.prefetch(0, meta1);
  if (std::min(tables, rest) <= prefetched_at_once)
    file_.prefetch(p.varheader, std::min(rest, prefetched_at_once));
}

Pointer MetadataReader::read_pointer() {
  extension();
  std::optional<Pointer> stored;
  const auto problem = attempt([&] {
    stored = read_stored_pointer();
    if (stored) checks(*stored);
  });
  if (!stored || problem) file_.drop_prefetched(0);  // the file may be completed at any time
  if (problem && (problem->code() != Code::damaged || !unclosed_.is_pointer_torn())) throw *problem;
  return stored && !problem ? *stored : unclosed_.recover_pointer();
}

const std::optional<format::Extension>& MetadataReader::extension() {
  if (extension_) return *extension_;
  std::array<std::byte, format::fixed_size> head;
  const auto bytes = std::span(head).first(file_.read_at(head, 0));
  try {
    if (header_.version >= 5 && bytes.size() < head.size()) damaged("has become shorter than its header");
    auto found = format::decode_extension(bytes, file_.path());
    if (found) codec::require_known(found->codec, file_.path());
    extension_ = std::move(found);
  } catch (const Error& e) {
    if (checking_ == Checking::on || e.code() != Code::damaged) throw;
    extension_ = std::optional<format::Extension>();
  }
  return *extension_;
}

FileChecks* MetadataReader::checks(const format::Pointer& p) {
  if (checking_ == Checking::off || !p.complete() || checks_) return checks_.get();
  std::optional<FileChecks> opened;
  const auto open = [&](int64_t size) { opened = FileChecks::open(file_, size, header_, p, extension()); };
  // The size at the open may be older than the last written byte. If it does not fit, the current size is
  // used.
  if (opened_size_ >= p.varheader && extension()) attempt([&] { open(opened_size_); });
  if (!opened) open(file_size());
  if (opened) checks_ = std::make_unique<FileChecks>(std::move(*opened));
  return checks_.get();
}

void MetadataReader::read_chunk_sizes(int64_t first, std::span<int64_t> values) {
  read_stored_chunk_sizes(first, values);
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t& size = values[i];
    if (size < 0)
      damaged("chunk size " + std::to_string(size) + " of task " +
              std::to_string(first + static_cast<int64_t>(i)));
    // Formats before 4 store the requested sizes.
    if (header_.version <= 3) {
      const auto aligned = align_up(size, header_.fsblksize);
      if (!aligned) damaged("a chunk size exceeds 2^63 bytes");
      size = *aligned;
    }
  }
}

void MetadataReader::read_block_counts(const format::Pointer& p, int64_t first, std::span<int64_t> values) {
  if (!p.complete()) return unclosed_.read_block_counts(p, first, values);
  read_numbers(p.varheader + 8 * first, values, "block counts");
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] < 1 || values[i] > p.maxblocks)
      damaged("task " + std::to_string(first + static_cast<int64_t>(i)) + " claims " +
              std::to_string(values[i]) + " blocks of at most " + std::to_string(p.maxblocks));
}

void MetadataReader::read_block_sizes(const format::Pointer& p, int64_t round, int64_t first,
                                      std::span<int64_t> values) {
  read_stored_block_sizes(p, round, first, values);
  if (!overruns_) return;
  const int64_t entry = round * header_.ntasks + first;
  const auto& cut = *overruns_;
  for (auto b = std::ranges::lower_bound(cut, entry, {}, &layout::CutBlock::entry);
       b != cut.end() && b->entry < entry + std::ssize(values); ++b)
    values[static_cast<size_t>(b->entry - entry)] = b->own;
}

void MetadataReader::read_stored_block_sizes(const format::Pointer& p, int64_t round, int64_t first,
                                             std::span<int64_t> values) {
  if (!p.complete()) return unclosed_.read_block_sizes(p, round, first, values);
  read_numbers(block_sizes_offset(header_, p, round) + 8 * first, values, "block sizes");
}

int64_t MetadataReader::read_mapping_size(const format::Pointer& p) {
  if (!p.complete()) return unclosed_.read_mapping_size();
  std::array<std::byte, 4> bytes;
  const int64_t at = mapping_offset(header_, p);
  if (file_.read_at(bytes, at) != bytes.size()) damaged("truncated: the mapping of the set is missing");
  const int64_t size = load<int32_t>(bytes.data(), header_.metadata_order);
  if (size < 0 || !reaches(at + 4 + 8 * size))
    damaged("the mapping of the set claims " + std::to_string(size) + " tasks, more than the file holds");
  return size;
}

void MetadataReader::read_mapping(const format::Pointer& p, int64_t first,
                                  std::span<layout::Placement> entries) {
  if (!p.complete()) return unclosed_.read_mapping(first, entries);
  read_numbers(mapping_offset(header_, p) + 4 + 8 * first, numbers_of(entries), "mapping of the set");
  for (const layout::Placement& e : entries)
    if (e.file < 0 || e.file >= header_.nfiles || e.local_rank < 0)
      damaged("the mapping sends task " + std::to_string(first + (&e - entries.data())) + " to file " +
              std::to_string(e.file) + ", task " + std::to_string(e.local_rank) + " of a set of " +
              std::to_string(header_.nfiles) + " files");
}

void MetadataReader::check_block(const format::Pointer& p, const layout::ChunkGeometry& g, int64_t task,
                                 int64_t block, int64_t bytes) {
  const auto refuse = [&](const std::string& why) {
    damaged("block " + std::to_string(block) + " of task " + std::to_string(task) + " claims " +
            std::to_string(bytes) + " bytes" + why);
  };
  const auto end = bytes < 0 ? std::nullopt : checked_add(g.start + block * g.skip, bytes);
  if (!end || (*end > p.varheader && (bytes <= g.size || !may_overrun(p) || !reaches(*end))))
    refuse(", which reach beyond the data");
  if (bytes <= g.size) return;
  // The blocks that fit their chunks add up to at most the size of the data area. The limit below keeps the
  // sum of all other blocks representable.
  const std::string of_chunk = " of a chunk of " + std::to_string(g.size);
  const auto entries = checked_mul(header_.ntasks, p.maxblocks);
  if (!entries || bytes > (INT64_MAX - p.varheader) / *entries)
    refuse(of_chunk + "; with such blocks the data may exceed 2^63 bytes");
  if (header_.keyval() == format::KeyvalMode::inline_) refuse(of_chunk + " in a key-value file");
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

void MetadataWriter::write_header(const std::optional<format::Extension>& extension) {
  Header h = header_;
  h.encoded = extension && extension->compressed();
  auto bytes = format::encode(h);
  const bool extends = extension && format::extensible(header_.name());
  if (extension && extension->compressed() && !extends)
    throw file_error(Code::invalid_argument, file_.path(),
                     "cannot be compressed: its name has more than " +
                         std::to_string(format::max_extended_name) + " bytes");
  if (extends) format::put_extension(*extension, bytes);
  file_.write_at(bytes, 0);
}

void write_block_table(MetadataWriter& writer, const format::Pointer& p, int64_t first,
                       std::span<const int64_t> counts,
                       const std::function<int64_t(size_t t, int64_t block)>& size_of, int64_t unused) {
  if (counts.empty()) return;
  // Rounds are adjacent if the slice covers the whole file; several are then written together.
  const size_t rounds_per_write =
      writer.covers_file(counts.size()) ? std::max<size_t>(1, written_at_once / counts.size()) : 1;
  std::vector<int64_t> values;
  for (int64_t round = 0; round < p.maxblocks;) {
    const int64_t begin = round;
    values.clear();
    for (size_t r = 0; r < rounds_per_write && round < p.maxblocks; ++r, ++round)
      for (size_t t = 0; t < counts.size(); ++t)
        values.push_back(round < counts[t] ? size_of(t, round) : unused);
    writer.write_block_sizes(p, begin, first, values);
  }
  // The counts are written after the sizes they count, so that a table rewritten in place is valid at every
  // moment.
  writer.write_block_counts(p, first, counts);
}

layout::ChunkGeometry read_geometry(MetadataReader& reader, const format::Pointer& p, int64_t local_rank) {
  const Header& h = reader.header();
  if (local_rank < 0 || local_rank >= h.ntasks)
    throw Error(Code::out_of_range, "'" + reader.file().path() + "': there is no task " +
                                        std::to_string(local_rank) + "; the file holds tasks 0 to " +
                                        std::to_string(h.ntasks - 1));
  layout::ChunkGeometry g{.start = layout::data_start(h.ntasks, h.fsblksize)};
  g.skip = reader.visit_chunk_sizes(recovered_at_once, [&](int64_t first, std::span<const int64_t> sizes) {
    const auto before =
        sizes.first(static_cast<size_t>(std::clamp<int64_t>(local_rank - first, 0, std::ssize(sizes))));
    for (const int64_t size : before) g.start = saturated_add(g.start, size);
    if (before.size() < sizes.size() && first <= local_rank) g.size = sizes[before.size()];
  });
  reader.check_pointer(p, g.skip);
  return g;
}

std::vector<int64_t> read_blocks_of_task(MetadataReader& reader, const format::Pointer& p,
                                         const layout::ChunkGeometry& g, int64_t local_rank) {
  int64_t count = 0;
  reader.read_block_counts(p, local_rank, std::span(&count, 1));
  std::vector<int64_t> sizes(static_cast<size_t>(count));
  int64_t round = 0;
  for (int64_t& size : sizes) {
    reader.read_block_sizes(p, round, local_rank, std::span(&size, 1));
    reader.check_block(p, g, local_rank, round++, size);
  }
  if (sizes.empty() || std::ranges::max(sizes) <= g.size) return sizes;
  for (const auto& block : reader.find_overruns(p))
    if (block.entry % reader.header().ntasks == local_rank)
      sizes[static_cast<size_t>(block.entry / reader.header().ntasks)] = block.own;
  return sizes;
}

FileIdentity FileIdentity::of(const format::Header& header, const format::Pointer& pointer,
                              const std::optional<format::Extension>& extension) {
  FileIdentity g;
  if (extension) g.identity = extension->identity;
  if (!pointer.complete()) return g;
  g.pointer_offset = header.pointer_offset();
  g.pointer = format::encode(pointer, header.metadata_order);
  return g;
}

std::shared_ptr<File> watched(std::shared_ptr<File> file, const FileIdentity& of) {
  constexpr int64_t in_extension = 16;  // docs/format.md, section 14.1
  WatchedBytes identity, pointer;
  if (of.identity != format::Identity{})
    identity = {format::extension_offset + in_extension, of.identity.size(), of.identity};
  if (of.pointer_offset > 0) {
    pointer = {of.pointer_offset, of.pointer.size(), {}};
    std::ranges::copy(of.pointer, pointer.expected.begin());
  }
  if (identity.count > 0) return std::make_shared<WatchedFile>(std::move(file), identity, pointer);
  if (pointer.count > 0) return std::make_shared<WatchedFile>(std::move(file), pointer, WatchedBytes{});
  return file;
}

}  // namespace sheaf::multifile
