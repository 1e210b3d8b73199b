// Reads the metadata of single physical files in slices, for one task, and all at once. All ways must return
// the same numbers.
#include <algorithm>

#include "comm/agree.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/packed_files.hpp"
#include "fuzz/targets.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/tools/usage.hpp"

namespace sheaf::fuzz {

using namespace multifile;

namespace {

constexpr int64_t max_in_holes = 8 << 20;  // bytes of metadata

using Row = std::array<int64_t, 4>;  // global rank, chunk size, block count, size of the last block

// Reads tasks [first, first + count) as metadata writers do.
std::vector<Row> read_slice(MetadataReader& reader, const format::Pointer& p, int64_t first, int64_t count) {
  const auto n = static_cast<size_t>(count);
  std::vector<int64_t> ranks(n), chunks(n), counts(n), sizes(n);
  reader.read_globalranks(first, ranks);
  reader.read_chunk_sizes(first, chunks);
  reader.read_block_counts(p, first, counts);
  std::vector<Row> rows;
  for (size_t i = 0; i < n; ++i) {
    reader.read_block_sizes(p, counts[i] - 1, first + static_cast<int64_t>(i),
                            std::span(sizes).subspan(i, 1));
    rows.push_back({ranks[i], chunks[i], counts[i], sizes[i]});
  }
  return rows;
}

void check_against(FileRows& whole, std::span<const Row> rows, int64_t first) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const TaskRow& row = whole.at(first + static_cast<int64_t>(i));
    require(
        rows[i] == Row{row.globalrank, row.geometry.size, row.sizes.count, row.sizes[row.sizes.count - 1]},
        "a slice has the rows of the whole");
  }
}

void read_mapping(MetadataReader& reader, const format::Pointer& p) {
  std::vector<layout::Placement> entries(1000);
  const int64_t size = reader.read_mapping_size(p);
  for (int64_t first = 0; first < size; first += std::ssize(entries)) {
    entries.resize(static_cast<size_t>(std::min(size - first, std::ssize(entries))));
    reader.read_mapping(p, first, entries);
  }
}

void read_file(Store& store, const std::string& path) {
  const auto file = store.open(path, Access::read);
  std::optional<PhysicalFile> whole, sliced;
  const auto problem = attempt([&] { whole = load_physical_file(store, path); });
  const auto again = attempt([&] { sliced = load_physical_file(store, path, Checking::on, 0); });
  require(problem.has_value() == again.has_value(), "a file is as good if its tables are not held");
  require(!problem || problem->what() == std::string(again->what()), "and as bad");
  const auto slices = attempt([&] {
    MetadataReader reader(store, *file);
    const int64_t n = reader.header().ntasks;
    const format::Pointer p = reader.read_pointer();
    if (reader.header().leads_set()) read_mapping(reader, p);
    std::optional<FileRows> rows, rows_again;
    if (whole) rows.emplace(*whole);
    if (sliced) rows_again.emplace(*sliced);
    for (int64_t first = 0; first < n; first += 7) {
      const auto found = read_slice(reader, p, first, std::min<int64_t>(7, n - first));
      if (!whole) continue;
      check_against(*rows, found, first);
      check_against(*rows_again, found, first);
    }
  });
  for (const int64_t task : {0, 1, 5, -1}) {
    const auto single = attempt([&] {
      MetadataReader reader(store, *file);
      const format::Pointer p = reader.read_pointer();
      const layout::ChunkGeometry g = read_geometry(reader, p, task);
      const std::vector<int64_t> sizes = read_blocks_of_task(reader, p, g, task);
      for (size_t b = 0; b < sizes.size(); ++b)
        require(sizes[b] >= 0 && g.offset(static_cast<int64_t>(b)) <= p.varheader - sizes[b],
                "blocks lie before META2");
    });
    if (whole && task >= 0 && task < whole->header.ntasks) require(!single, "one task of a sound file");
  }
  if (!whole) return require(problem.has_value(), "an error or a file");
  require(!slices || whole->header.leads_set(), "slices of a sound file");
  Multifile alone;
  alone.path = path;
  alone.files.push_back(std::move(*whole));
  const Usage usage = usage_of(alone);
  require(usage.data_bytes >= 0 && usage.chunk_bytes >= 0, "usage");
  const auto mapping = stored_mapping_size(alone, 0);
  require(!mapping || *mapping == 0 || *mapping == alone.files[0].header.ntasks, "stored mapping");
}

}  // namespace

void fuzz_metadata(std::span<const std::byte> input) {
  const PackedFiles files = unpack(input);
  if (files.files.empty() || files.holes_hold_metadata(max_in_holes)) return;
  const MemoryBound bound(MemoryBound::for_files(files.bytes()));
  SpanStore store = files_to_read(files);
  for (size_t k = 0; k < files.files.size(); ++k)
    read_file(store, format::physical_name("m", static_cast<int32_t>(k)));
}

}  // namespace sheaf::fuzz
