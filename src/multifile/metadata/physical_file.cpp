#include "multifile/metadata/physical_file.hpp"

#include <algorithm>

#include "multifile/generation/generation.hpp"
#include "multifile/metadata/boundary_blocks_reader.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "storage/decorators/few_descriptors.hpp"

namespace sheaf::multifile {

using namespace metadata_constants;

namespace {

// A physical file before its tables are loaded.
struct UnloadedFile {
  PhysicalFile file;
  std::unique_ptr<MetadataReader> reader;
};

// Reads the head of an open file. `store` opens the files beside it.
UnloadedFile read_head(Store& store, std::shared_ptr<File> file, Checking checking) {
  PhysicalFile f;
  f.file = std::move(file);
  auto reader = std::make_unique<MetadataReader>(store, *f.file, checking);
  f.header = reader->header();
  f.pointer = reader->read_pointer();
  f.extension = reader->extension();
  return {std::move(f), std::move(reader)};
}

PhysicalFile load_tables(Store& store, UnloadedFile unloaded, int64_t max_held) {
  auto& [f, reader] = unloaded;
  f.table = std::make_shared<const TaskTable>(std::move(reader), f.pointer, max_held);
  if (!f.pointer.complete()) f.file = with_boundary_blocks(store, std::move(f.file));
  f.file = watched(std::move(f.file), FileIdentity::of(f.header, f.pointer, f.extension));
  return std::move(f);
}

}  // namespace

PhysicalFile load_physical_file(Store& store, const std::string& path, Checking checking, int64_t max_held) {
  const auto opened = open_one_of_many(store, path);
  PhysicalFile loaded = load_tables(store, read_head(store, opened, checking), max_held);
  opened->drop_prefetched(0);
  return loaded;
}

void Multifile::read_places(int64_t first, std::span<layout::Placement> places) const {
  if (!is_set()) {
    for (layout::Placement& place : places) place = {0, static_cast<int32_t>(first++)};
  } else if (mapping.empty()) {
    files.front().table->read_mapping(first, places);
  } else {
    std::ranges::copy(std::span(mapping).subspan(static_cast<size_t>(first), places.size()), places.begin());
  }
}

layout::Placement Multifile::place(int64_t task) const {
  layout::Placement place;
  read_places(task, std::span(&place, 1));
  return place;
}

TaskRow Multifile::row(int64_t task) const {
  const layout::Placement at = place(task);
  return FileRows(files[static_cast<size_t>(at.file)], at.file).at(at.local_rank);
}

int64_t Multifile::maxblocks() const {
  const auto blocks = [](const PhysicalFile& f) { return f.pointer.maxblocks; };
  return blocks(*std::ranges::max_element(files, {}, blocks));
}

int64_t Multifile::data_bytes() const {
  int64_t sum = 0;
  for_each_row(*this, [&](int64_t, const TaskRow& row) { sum += row.sizes.total(); });
  return sum;
}

namespace {

// Returns `given` as if it were not compressed. `numbers` has the number in the multifile of each of its
// tasks, by local rank.
PhysicalFile plain_view(PhysicalFile given, std::span<const int64_t> numbers) {
  if (!given.header.compressed || given.plain) return given;
  const auto stored = std::make_shared<const PhysicalFile>(std::move(given));
  std::vector<StoredTask> tasks;
  FileRows rows(*stored);
  for (const int64_t number : numbers) {
    const TaskRow& row = rows.at(std::ssize(tasks));
    tasks.push_back({number, row.geometry, !stored->pointer.complete(), row.sums});
  }
  PhysicalFile view = *stored;
  view.file = view.plain =
      std::make_shared<PlainFile>(stored->file, std::move(tasks),
                                  [stored, rows = FileRows(*stored)](ReadStream& stream, size_t t) mutable {
                                    const TaskRow& row = rows.at(static_cast<int64_t>(t));
                                    stream.load(stored->file, row.geometry, row.sizes, {}, row.sums);
                                  });
  view.header.compressed = false;
  view.pointer.maxblocks = 0;
  for (int32_t t = 0; t < view.header.ntasks; ++t)
    view.pointer.maxblocks =
        std::max(view.pointer.maxblocks, view.plain->sizes_of(static_cast<size_t>(t)).count);
  return view;
}

// Throws damaged unless the mapping names existing tasks and the sum of their data is representable.
void check_set(const Multifile& m) {
  int64_t largest = 0;
  for (const PhysicalFile& f : m.files) largest = std::max(largest, f.table->largest_task());
  for_each_place(m, [&](int64_t first, std::span<const layout::Placement> places) {
    for (const layout::Placement& at : places) {
      const PhysicalFile& f = m.files[static_cast<size_t>(at.file)];
      if (at.local_rank >= f.header.ntasks)
        throw file_error(Code::damaged, m.path,
                         "the mapping sends task " + std::to_string(first) + " to task " +
                             std::to_string(at.local_rank) + " of '" + f.path() + "', which has only " +
                             std::to_string(f.header.ntasks));
      ++first;
    }
  });
  if (checked_mul(largest, m.ntasks())) return;
  int64_t sum = 0;
  for_each_row(m, [&](int64_t, const TaskRow& row) {
    const auto more = checked_add(sum, row.sizes.total());
    if (!more)
      throw file_error(Code::damaged, m.path, "the tasks of the set are said to have more than 2^63 bytes");
    sum = *more;
  });
}

}  // namespace

void require_unchanged(const Multifile& m) {
  for (const PhysicalFile& f : m.files) f.file->require_unchanged();
}

void load_stream(ReadStream& stream, const Multifile& m, int64_t task, const TaskRow& row) {
  const PhysicalFile& f = m.file_of(row);
  load_stream(stream, f.header, f.file, {task, row.geometry, !f.pointer.complete(), row.sums}, row.sizes);
}

Multifile plain_view(Multifile multifile) {
  if (!multifile.compressed()) return multifile;
  std::vector<std::vector<int64_t>> tasks;  // task numbers of each file, by local rank
  for (const PhysicalFile& f : multifile.files) tasks.emplace_back(static_cast<size_t>(f.header.ntasks), -1);
  for_each_place(multifile, [&](int64_t first, std::span<const layout::Placement> places) {
    for (const layout::Placement at : places)
      tasks[static_cast<size_t>(at.file)][static_cast<size_t>(at.local_rank)] = first++;
  });
  for (size_t f = 0; f < tasks.size(); ++f)
    multifile.files[f] = plain_view(std::move(multifile.files[f]), tasks[f]);
  return multifile;
}

namespace {

// Loads the files of one generation, opened through `files`. `lead_file` is file 0.
Multifile load_generation(Store& store, GenerationStore& files, const std::string& path,
                          UnloadedFile lead_file, Checking checking, int64_t max_held) {
  Multifile m;
  m.path = path;
  const auto load = [&](UnloadedFile file) {
    const auto opened = file.file.file;
    const bool is_lead = m.files.empty();
    m.files.push_back(load_tables(store, std::move(file), max_held));
    max_held -= m.files.back().table->bytes_held();
    if (!is_lead) opened->drop_prefetched(0);  // file 0 also has the mapping
  };
  load(std::move(lead_file));
  if (!m.files.front().header.leads_set()) return m;
  const auto& extension = m.files.front().extension;
  files.expect(extension ? std::optional(extension->identity) : std::nullopt);

  const TaskTable& lead = *m.files.front().table;
  m.set_tasks = lead.check_mapping();
  if (m.set_tasks == 0) throw file_error(Code::damaged, path, "a set of several files with an empty mapping");
  if (const int64_t bytes = m.set_tasks * static_cast<int64_t>(sizeof(layout::Placement));
      bytes <= max_held / 2) {
    m.mapping.resize(static_cast<size_t>(m.set_tasks));
    lead.read_mapping(0, m.mapping);
    max_held -= bytes;
  }

  const int32_t nfiles = m.files.front().header.nfiles;
  for (int32_t k = 1; k < nfiles; ++k) {
    load(read_head(store, open_one_of_many(files, format::physical_name(path, k)), checking));
    const PhysicalFile& f = m.files.back();
    if (f.header.nfiles != nfiles || f.header.filenumber != k)
      throw file_error(Code::damaged, f.path(),
                       "is file " + std::to_string(f.header.filenumber) + " of " +
                           std::to_string(f.header.nfiles) + ", not file " + std::to_string(k) +
                           " of the set '" + path + "' of " + std::to_string(nfiles));
    if (checking == Checking::on && is_of_another_open(m.files.front().extension, f.extension))
      throw file_error(Code::damaged, f.path(),
                       "was written by another open than '" + path + "': their identities differ");
  }
  check_set(m);
  return m;
}

}  // namespace

Multifile load_multifile(Store& store, const std::string& path, Checking checking, int64_t max_held) {
  Multifile m;
  GenerationStore files(store, path);
  files.open_multifile([&] {
    m = load_generation(store, files, path, read_head(store, open_one_of_many(files, path), checking),
                        checking, max_held);
  });
  return m;
}

std::optional<Multifile> load_small_multifile(Store& store, const std::string& path, Checking checking,
                                              int64_t& ntasks) {
  std::optional<Multifile> m;
  GenerationStore files(store, path);
  files.open_multifile([&] {
    UnloadedFile lead = read_head(store, open_one_of_many(files, path), checking);
    const format::Header& h = lead.file.header;
    ntasks = h.leads_set() ? lead.reader->read_mapping_size(lead.file.pointer) : h.ntasks;
    const int32_t nfiles = h.leads_set() ? h.nfiles : 1;
    m.reset();
    if (ntasks <= small_tasks && nfiles <= small_files)
      m = load_generation(store, files, path, std::move(lead), checking, held_by_readers);
  });
  return m;
}

}  // namespace sheaf::multifile
