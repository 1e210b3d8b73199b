#include "multifile/reader/reader.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "multifile/frames/plain_file.hpp"
#include "multifile/generation/generation.hpp"
#include "multifile/metadata/boundary_blocks_reader.hpp"
#include "multifile/stream/file_checks.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

Reader::Reader(Store& store, const std::string& path, const OpenMode& mode)
    : whole_(std::make_unique<Whole>(
          plain_view(load_multifile(store, path, mode.checking(), held_by_readers)))) {
  stream_.buffer().set_max(mode.read_buffer());
  if (ntasks() > 0) {
    load(find(0), 0);
  } else {
    stream_.load(multifile().files.front().file, {}, {}, {});
  }
}

Reader::Reader(Store& store, std::unique_ptr<Comm> comm, const MappedReadRequest& request,
               const OpenMode& mode)
    : comm_(std::move(comm)), tasks_(std::make_shared<OpenTasks>(store, *comm_, request, mode)) {
  stream_.buffer().set_max(mode.read_buffer());
  const auto problem = attempt([&] {
    if (tasks().empty()) return stream_.load(tasks_->no_task, {}, {}, {});
    load(tasks_->readable(0), tasks().front().task);
  });
  if (tasks_->facts().compressed) agree(*comm_, problem);
}

Reader::Reader(Reader& original, std::optional<int64_t> only) : tasks_(original.tasks_), only_(only) {
  if (!tasks_)
    throw Error(Code::wrong_mode,
                "'" + original.path() + "': only handles opened in parallel for reading can be duplicated");
  if (tasks().empty()) throw Error(Code::out_of_range, "there is no task to duplicate");
  stream_.buffer().set_max(original.stream_.buffer().max());
  if (original.left_) left().positions = original.left_->positions;
  left().positions[original.current_.task] = original.stream_.position();
  // Create the state that readable() would otherwise create when a task is first read. By then, another
  // thread may be using the original, which shares this state.
  for (size_t i = 0; i < tasks().size(); ++i)
    if (!only || *only == tasks()[i].task) tasks_->readable(i);
  const int64_t first = only.value_or(original.current_.task);
  load(tasks_->readable(tasks_->own.find(first, original.path())),
       first);  // path() is not set yet
}

std::span<const OwnTask> Reader::tasks() const {
  return tasks_ ? std::span<const OwnTask>(tasks_->own.tasks) : std::span<const OwnTask>();
}

std::vector<layout::Placement> Reader::read_mapping() const {
  return tasks_ ? tasks_->read_mapping() : std::vector<layout::Placement>();
}

size_t Reader::index_of(int64_t task) const {
  if (only_ && task != *only_)
    throw Error(Code::out_of_range,
                "'" + path() + "': this duplicate gives no access to task " + std::to_string(task));
  return tasks_->own.find(task, path());
}

// Returns the task in the form in which programs read it. If its frames are invalid, throws damaged and
// changes nothing.
Readable Reader::find(int64_t task) {
  if (!whole_) return tasks_->readable(index_of(task));
  if (task < 0 || task >= ntasks())
    throw Error(Code::out_of_range, "'" + multifile().path + "': there is no task " + std::to_string(task) +
                                        " of " + std::to_string(ntasks()));
  const TaskRow& row = whole_->rows.at(task);
  return {.filenumber = row.place.file,
          .globalrank = row.globalrank,
          .file = multifile().file_of(row).file,
          .geometry = row.geometry,
          .sizes = row.sizes,
          .held = row.held,
          .sums = row.sums};
}

void Reader::load(Readable found, int64_t task) {
  stream_.load(std::move(found.file), found.geometry, found.sizes, position_of(task), found.sums);
  current_ = {task, found.filenumber, found.globalrank, std::move(found.held)};
}

Reader::Left& Reader::left() {
  if (!left_) left_ = std::make_unique<Left>();
  return *left_;
}

void Reader::select(int64_t task) {
  Readable next = find(task);
  if (task == current_.task) return;
  left().positions[current_.task] = stream_.position();
  auto& handles = left_->handles;
  change_handle(stream_, handles[current_.filenumber], handles[next.filenumber],
                [&] { load(std::move(next), task); });
}

StreamPosition Reader::position_of(int64_t task) {
  if (task == current_.task) return stream_.position();
  if (!left_) return {};
  const auto at = left_->positions.find(task);
  return at == left_->positions.end() ? StreamPosition{} : at->second;
}

std::optional<format::Identity> Reader::read_generation() {
  if (!facts().compressed || current_.task < 0) return read_identity(stream_.blocks().file());
  return read_identity(whole_ ? multifile().files.front().plain->stored_file()
                              : *tasks_->stored(index_of(current_.task)).file);
}

FileFacts Reader::facts() const {
  if (!whole_) return current_.task < 0 ? tasks_->facts() : tasks_->file_facts(index_of(current_.task));
  const PhysicalFile& first = multifile().files.front();
  FileFacts facts = facts_of(first.header, !multifile().closed());
  facts.compressed = first.plain != nullptr;
  return facts;
}

int Reader::open_files() const {
  return static_cast<int>(whole_ ? multifile().files.size() : tasks_->own.files.size());
}

int64_t Reader::bytes_held() const {
  if (!whole_) return tasks_->bytes_held();
  int64_t bytes = 0;
  for (const PhysicalFile& f : multifile().files) bytes += f.table->bytes_held();
  return bytes;
}

void Reader::close() {
  collecting_.reset();
  const auto problem = attempt([&] {
    if (const auto handle = stream_.release_handle()) handle->close();
    if (left_)
      for (const auto& [number, handle] : left_->handles)
        if (handle) handle->close();
    if (!comm_) return;
    for (const OwnFile& f : tasks_->own.files) f.file->close();
  });
  if (comm_) return agree(*comm_, problem);
  if (problem) throw *problem;
}

namespace {

int64_t group_begin(int64_t task) { return task / format::group_tasks * format::group_tasks; }

// Opens one task without loading the metadata of the others.
std::shared_ptr<OpenTasks> open_one_task(Store& store, GenerationStore& generation, const std::string& path,
                                         int64_t task, const OpenMode& mode) {
  const auto tables = std::make_shared<SharedReader>();
  Readable stored;
  stored.file = generation.open(path, Access::read);
  tables->reader = std::make_unique<MetadataReader>(store, *stored.file, mode.checking());
  int64_t local_rank = task;
  int64_t all = tables->reader->header().ntasks;
  if (tables->reader->header().leads_set()) {
    const auto lead_file = stored.file;
    const auto lead = std::move(tables->reader);
    const format::Pointer p = lead->read_pointer();
    generation.expect(read_identity(*lead_file));
    all = lead->read_mapping_size(p);
    if (task < 0 || task >= all)
      throw Error(Code::out_of_range, "'" + path + "': there is no task " + std::to_string(task) +
                                          "; the multifile holds tasks 0 to " + std::to_string(all - 1));
    if (FileChecks* const checks = lead->checks(p))
      checks->check_mapping(group_begin(task), format::group_tasks, all);
    layout::Placement at;
    lead->read_mapping(p, task, std::span(&at, 1));
    local_rank = at.local_rank;
    // Verify the number of blocks in file 0, because the offset of the mapping was computed from it. If the
    // task is in file 0, the read_geometry() call below does so.
    if (at.file != 0 && lead->header().ntasks > 0) read_geometry(*lead, p, 0);
    if (at.file != 0) stored.file = generation.open(format::physical_name(path, at.file), Access::read);
    tables->reader = std::make_unique<MetadataReader>(store, *stored.file, mode.checking());
    MetadataReader& member = *tables->reader;
    const format::Header& h = member.header();
    if (h.nfiles != lead->header().nfiles || h.filenumber != at.file || local_rank >= h.ntasks)
      member.damaged("is file " + std::to_string(h.filenumber) + " of " + std::to_string(h.nfiles) +
                     " with " + std::to_string(h.ntasks) + " tasks, where the mapping of '" + path +
                     "' has task " + std::to_string(local_rank) + " of file " + std::to_string(at.file) +
                     " of " + std::to_string(lead->header().nfiles));
    if (at.file != 0 && mode.checking() == Checking::on) require_same_open(lead->extension(), member);
  }
  MetadataReader& reader = *tables->reader;
  const format::Header& h = reader.header();
  const format::Pointer p = tables->pointer = reader.read_pointer();
  const FileFacts facts = facts_of(h, !p.complete());
  stored.filenumber = h.filenumber;
  stored.fsblksize = h.fsblksize;
  stored.geometry = read_geometry(reader, p, local_rank);
  stored.sizes = read_blocks_of_task(tables, stored.geometry, local_rank, stored.held);
  reader.read_globalranks(local_rank, std::span(&stored.globalrank, 1));
  stored.sums.local_rank = static_cast<int32_t>(local_rank);
  if (FileChecks* const checks = reader.checks(p)) {
    const int64_t group = group_begin(local_rank);
    stored.sums = checks->check_tasks(
        group, std::min(format::group_tasks, h.ntasks - group))[static_cast<size_t>(local_rank - group)];
  }
  stored.file->drop_prefetched(0);
  tables->file = std::exchange(stored.file, generation.opened(stored.file));
  if (facts.unclosed) stored.file = with_boundary_blocks(store, std::move(stored.file));
  stored.file = watched(std::move(stored.file), FileIdentity::of(h, p, reader.extension()));
  return std::make_shared<OpenTasks>(facts, all, task, h.ntasks, std::move(stored));
}

}  // namespace

Reader::Reader(const Multifile& multifile, int64_t task, const OpenMode& mode) {
  stream_.buffer().set_max(mode.read_buffer());
  if (task < 0 || task >= multifile.ntasks())
    throw Error(Code::out_of_range, "'" + multifile.path + "': there is no task " + std::to_string(task) +
                                        "; the multifile holds tasks 0 to " +
                                        std::to_string(multifile.ntasks() - 1));
  const TaskRow row = multifile.row(task);
  const PhysicalFile& file = multifile.file_of(row);
  Readable stored{.filenumber = file.header.filenumber,
                  .fsblksize = file.header.fsblksize,
                  .globalrank = row.globalrank,
                  .file = file.file,
                  .geometry = row.geometry,
                  .sizes = row.sizes,
                  .held = row.held,
                  .sums = row.sums};
  stored.sums.local_rank = row.place.local_rank;
  tasks_ = std::make_shared<OpenTasks>(facts_of(file.header, !file.pointer.complete()), multifile.ntasks(),
                                       task, file.header.ntasks, std::move(stored));
  load(tasks_->readable(0), task);
}

Reader::Reader(Store& store, const std::string& path, int64_t task, const OpenMode& mode) {
  stream_.buffer().set_max(mode.read_buffer());
  GenerationStore generation(store, path);
  generation.open_multifile([&] { tasks_ = open_one_task(store, generation, path, task, mode); });
  load(tasks_->readable(0), task);
}

}  // namespace sheaf::multifile
