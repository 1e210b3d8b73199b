// Reads the metadata of a physical file, made from a recipe: arrays of META1, block table and mapping. If the
// file is sealed, all three have correct checksums (docs/format.md, section 14), so that wrong numbers are
// not detected by checksums. Readers must return the numbers of the recipe, and accept a file without wrong
// numbers.
#include "comm/agree.hpp"
#include "fuzz/made_metadata.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/recipe.hpp"
#include "fuzz/targets.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/stream/file_checks.hpp"

namespace sheaf::fuzz {

using namespace multifile;

namespace {

// Returns whether the table must be the original one. If the file has no pointer, only checksums can prove
// that a found table is the original one.
bool known(const MadeMetadata& made, const format::Pointer& p) {
  return p.complete() || (p.source == format::TableSource::unmarked && made.sealed && !made.cut);
}

void read_arrays(const MadeMetadata& made, MetadataReader& reader, const format::Pointer& p) {
  const auto n = static_cast<size_t>(reader.header().ntasks);
  require(n == made.ranks.size(), "number of tasks");
  std::vector<int64_t> values(n);
  reader.read_globalranks(0, values);
  require(values == made.ranks, "global ranks");
  reader.read_chunk_sizes(0, values);
  require(values == made.final_chunks(), "chunk sizes");
  reader.read_block_counts(p, 0, values);
  if (!known(made, p)) return;
  require(values == made.counts, "block counts");
  for (int64_t round = 0; round < std::min<int64_t>(p.maxblocks, made.rounds()); ++round) {
    reader.read_block_sizes(p, round, 0, values);
    require(std::ranges::equal(values, made.sizes_of_round(round)), "block sizes");
  }
}

void read_mapping(const MadeMetadata& made, MetadataReader& reader, const format::Pointer& p) {
  if (!reader.header().leads_set() || !p.complete()) return;
  const int64_t size = reader.read_mapping_size(p);
  require(size == made.mapping_size, "size of the mapping");
  if (size != std::ssize(made.mapping)) return;
  std::vector<layout::Placement> entries(static_cast<size_t>(size));
  if (FileChecks* const checks = reader.checks(p)) checks->check_mapping(0, size, size);
  reader.read_mapping(p, 0, entries);
  for (size_t i = 0; i < entries.size(); ++i)
    require(entries[i].file == made.mapping[i].file && entries[i].local_rank == made.mapping[i].local_rank,
            "an entry of the mapping");
}

void read_tasks(const MadeMetadata& made, MetadataReader& reader, const format::Pointer& p) {
  int64_t start = layout::data_start(std::ssize(made.ranks), reader.header().fsblksize);
  for (int64_t task = 0; task < std::ssize(made.ranks); ++task) {
    const layout::ChunkGeometry g = read_geometry(reader, p, task);
    require(g.start == start && g.size == made.final_chunks()[static_cast<size_t>(task)],
            "the place of a chunk");
    start += g.size;
    const std::vector<int64_t> sizes = read_blocks_of_task(reader, p, g, task);
    for (size_t b = 0; b < sizes.size(); ++b)
      require(sizes[b] >= 0 && g.start + static_cast<int64_t>(b) * g.skip <= p.varheader - sizes[b],
              "blocks lie before META2");
  }
}

}  // namespace

void fuzz_mapping(std::span<const std::byte> input) {
  static MadeMetadata made;
  static const auto file = std::make_shared<SpanFile>("m");
  static SpanStore store({file});
  Recipe recipe(input);
  const MemoryBound bound(MemoryBound::for_structure(std::ssize(input)) +
                          (2 << 20));  // buffers of the readers
  made.make(recipe);
  file->set(made.head, made.tail, made.tail_at);
  const auto problem = attempt([&] {
    MetadataReader reader(*file);
    const format::Pointer p = reader.read_pointer();
    if (FileChecks* const checks = reader.checks(p)) checks->check_tasks(0, std::ssize(made.ranks));
    if (made.overlapping()) return;
    read_arrays(made, reader, p);
    read_mapping(made, reader, p);
    read_tasks(made, reader, p);
  });
  require(!problem || !made.is_sound(), "a sound file can be read");
  std::optional<PhysicalFile> whole;
  const auto unloaded = attempt([&] { whole = load_physical_file(store, "m"); });
  require(!unloaded || !made.is_sound(), "a sound file can be loaded");
  if (!whole || made.overlapping()) return;
  std::vector<int64_t> ranks, chunks, counts;
  FileRows rows(*whole);
  for (int64_t t = 0; t < whole->header.ntasks; ++t) {
    const TaskRow& row = rows.at(t);
    ranks.push_back(row.globalrank);
    chunks.push_back(row.geometry.size);
    counts.push_back(row.sizes.count);
  }
  require(ranks == made.ranks && chunks == made.final_chunks(), "the arrays of a loaded file");
  if (known(made, whole->pointer)) require(counts == made.counts, "block counts of a loaded file");
}

}  // namespace sheaf::fuzz
