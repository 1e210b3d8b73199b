#include "multifile/physical_file.hpp"

#include <algorithm>

#include "multifile/file_checks.hpp"
#include "multifile/plain_file.hpp"

namespace sheaf {

layout::ChunkGeometry PhysicalFile::geometry(int64_t local_rank) const {
  const auto t = static_cast<size_t>(local_rank);
  return {layout.starts[t], layout.skip, chunk_sizes[t]};
}

BlockSizes PhysicalFile::sizes_of(int64_t local_rank) const {
  if (plain) return plain->sizes_of(static_cast<size_t>(local_rank));
  const auto count = static_cast<int32_t>(block_counts[static_cast<size_t>(local_rank)]);
  return {block_sizes.data() + local_rank, header.ntasks, count};
}

PhysicalFile load_physical_file(Store& store, const std::string& path, Checking checking) {
  PhysicalFile f;
  f.file = store.open(path, Access::read);
  MetadataReader reader(store, *f.file);
  reader.set_checking(checking);
  f.header = reader.header();
  const auto n = static_cast<size_t>(f.header.ntasks);
  f.pointer = reader.read_pointer();
  f.extension = reader.extension();
  if (FileChecks* const checks = reader.checks(f.pointer)) f.sums = checks->check_tasks(0, f.header.ntasks);

  f.globalranks.resize(n);
  f.chunk_sizes.resize(n);
  reader.read_globalranks(0, f.globalranks);
  reader.read_chunk_sizes(0, f.chunk_sizes);
  try {
    f.layout = layout::lay_out(f.chunk_sizes, f.header.fsblksize);
  } catch (const Error&) {
    reader.damaged("the chunk sizes add up to more than 2^63 bytes");
  }
  reader.check_pointer(f.pointer, f.layout.skip);

  f.block_counts.resize(n);
  f.block_sizes.resize(n * static_cast<size_t>(f.pointer.maxblocks));
  reader.read_block_counts(f.pointer, 0, f.block_counts);
  reader.read_block_sizes(f.pointer, 0, 0, f.block_sizes);
  for (size_t t = 0; t < n; ++t) {
    const auto task = static_cast<int64_t>(t);
    const BlockSizes sizes = f.sizes_of(task);
    for (int64_t b = 0; b < sizes.count; ++b) reader.check_block(f.pointer, f.geometry(task), task, b, sizes[b]);
  }
  return f;
}

int64_t Multifile::ntasks() const {
  return is_set() ? static_cast<int64_t>(mapping.size()) : files.front().header.ntasks;
}

layout::Placement Multifile::place(int64_t task) const {
  return is_set() ? mapping[static_cast<size_t>(task)] : layout::Placement{0, static_cast<int32_t>(task)};
}

layout::ChunkGeometry Multifile::geometry(int64_t task) const {
  return file_of(task).geometry(place(task).local_rank);
}

BlockSizes Multifile::sizes_of(int64_t task) const { return file_of(task).sizes_of(place(task).local_rank); }

SumsPlace Multifile::sums_of(int64_t task) const { return file_of(task).sums_of(place(task).local_rank); }

int64_t Multifile::globalrank(int64_t task) const {
  return file_of(task).globalranks[static_cast<size_t>(place(task).local_rank)];
}

int64_t Multifile::maxblocks() const {
  int32_t most = 0;
  for (const PhysicalFile& f : files) most = std::max(most, f.pointer.maxblocks);
  return most;
}

bool Multifile::closed() const {
  return std::ranges::all_of(files, [](const PhysicalFile& f) { return f.pointer.complete(); });
}

bool Multifile::compressed() const {
  return std::ranges::any_of(files, [](const PhysicalFile& f) { return f.header.compressed; });
}

int64_t Multifile::data_bytes() const {
  int64_t sum = 0;
  for (int64_t t = 0; t < ntasks(); ++t) sum += sizes_of(t).total();
  return sum;
}

namespace {

PhysicalFile plain_view(PhysicalFile given, const std::function<int64_t(int32_t local_rank)>& task_of) {
  if (!given.header.compressed || given.plain) return given;
  const auto stored = std::make_shared<const PhysicalFile>(std::move(given));
  std::vector<StoredTask> tasks;
  for (int32_t t = 0; t < stored->header.ntasks; ++t)
    tasks.push_back({task_of(t), stored->geometry(t), !stored->pointer.complete(), stored->sums_of(t)});
  PhysicalFile view;
  view.plain = std::make_shared<PlainFile>(stored->file, std::move(tasks), [stored](ReadStream& stream, size_t t) {
    const auto local_rank = static_cast<int64_t>(t);
    stream.load(stored->file, stored->geometry(local_rank), stored->sizes_of(local_rank), {}, stored->sums_of(local_rank));
  });
  view.file = view.plain;
  view.header = stored->header;
  view.header.compressed = false;
  view.extension = stored->extension;
  view.pointer = stored->pointer;
  view.pointer.maxblocks = 0;
  view.globalranks = stored->globalranks;
  view.layout = stored->layout;
  for (size_t t = 0; t < view.globalranks.size(); ++t) {
    const layout::ChunkGeometry chunks = view.plain->geometry(t);
    view.layout.starts[t] = chunks.start;
    view.layout.skip = chunks.skip;
    view.chunk_sizes.push_back(chunks.size);
    view.block_counts.push_back(view.plain->sizes_of(t).count);
    view.pointer.maxblocks = std::max(view.pointer.maxblocks, view.plain->sizes_of(t).count);
  }
  return view;
}

}  // namespace

void load_stream(ReadStream& stream, const Multifile& m, int64_t task) {
  const PhysicalFile& f = m.file_of(task);
  load_stream(stream, f.header, f.file, {task, m.geometry(task), !f.pointer.complete(), m.sums_of(task)}, m.sizes_of(task));
}

Multifile plain_view(Multifile multifile) {
  std::vector<std::vector<int64_t>> tasks(multifile.files.size());  // of each file, by local rank
  for (size_t f = 0; f < tasks.size(); ++f) tasks[f].assign(static_cast<size_t>(multifile.files[f].header.ntasks), -1);
  for (int64_t t = 0; t < multifile.ntasks(); ++t) {
    const layout::Placement at = multifile.place(t);
    tasks[static_cast<size_t>(at.file)][static_cast<size_t>(at.local_rank)] = t;
  }
  for (size_t f = 0; f < tasks.size(); ++f)
    multifile.files[f] =
        plain_view(std::move(multifile.files[f]), [&](int32_t local_rank) { return tasks[f][static_cast<size_t>(local_rank)]; });
  return multifile;
}

Multifile load_multifile(Store& store, const std::string& path, Checking checking) {
  Multifile m;
  m.path = path;
  m.files.push_back(load_physical_file(store, path, checking));
  const format::Header& lead = m.files.front().header;
  if (!lead.leads_set()) return m;

  MetadataReader reader(store, *m.files.front().file, lead);
  reader.set_checking(checking);
  const int64_t ntasks = reader.read_mapping_size(m.files.front().pointer);
  if (FileChecks* const checks = reader.checks(m.files.front().pointer)) checks->check_mapping(0, ntasks, ntasks);
  m.mapping.resize(static_cast<size_t>(ntasks));
  reader.read_mapping(m.files.front().pointer, 0, m.mapping);
  if (m.mapping.empty()) reader.damaged("a set of several files with an empty mapping");

  const int32_t nfiles = lead.nfiles;
  for (int32_t k = 1; k < nfiles; ++k) {
    m.files.push_back(load_physical_file(store, format::physical_name(path, k), checking));
    const PhysicalFile& f = m.files.back();
    if (f.header.nfiles != nfiles || f.header.filenumber != k)
      throw file_error(Code::damaged, f.path(),
                       "is file " + std::to_string(f.header.filenumber) + " of " + std::to_string(f.header.nfiles) +
                           ", not file " + std::to_string(k) + " of the set '" + path + "' of " +
                           std::to_string(nfiles));
  }
  int64_t data_bytes = 0;
  for (int64_t t = 0; t < ntasks; ++t) {
    const layout::Placement at = m.mapping[static_cast<size_t>(t)];
    const PhysicalFile& f = m.files[static_cast<size_t>(at.file)];
    if (at.local_rank >= f.header.ntasks)
      reader.damaged("the mapping sends task " + std::to_string(t) + " to task " + std::to_string(at.local_rank) +
                     " of '" + f.path() + "', which has only " + std::to_string(f.header.ntasks));
    const auto sum = checked_add(data_bytes, m.sizes_of(t).total());
    if (!sum) reader.damaged("the tasks of the set are said to have more than 2^63 bytes");
    data_bytes = *sum;
  }
  return m;
}

}  // namespace sheaf
