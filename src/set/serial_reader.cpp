#include "set/serial_reader.hpp"

#include "metadata/edges_reader.hpp"
#include "stream/file_checks.hpp"

namespace sheaf {

SerialReader::SerialReader(Store& store, const std::string& path, const OpenMode& mode)
    : multifile_(plain_view(load_multifile(store, path, mode.checking(), held_by_readers))),
      rows_(multifile_),
      handles_(multifile_.files.size()) {
  stream_.set_max_buffer(mode.read_buffer());
  if (ntasks() == 0) return;
  row_ = rows_.at(0);
  load({});
}

void SerialReader::load(const ReadPosition& position) {
  stream_.load(multifile_.file_of(row_).file, row_.geometry, row_.sizes, position, row_.sums);
}

void SerialReader::select(int64_t task) {
  if (task < 0 || task >= ntasks())
    throw Error(Code::out_of_range, "'" + multifile_.path + "': there is no task " + std::to_string(task) +
                                        " of " + std::to_string(ntasks()));
  if (task == task_) return;
  const TaskRow& next = rows_.at(task);
  positions_[task_] = stream_.park();
  auto shared = stream_.release_handle();
  const bool sharing = shared != nullptr;
  const bool with_stream = sharing && shared->stream();
  handles_[file_index()] = std::move(shared);
  task_ = task;
  row_ = next;
  load(parked(task));
  if (!sharing) return;
  if (auto& own = handles_[file_index()]) {
    stream_.attach(std::move(own));
  } else {
    stream_.share(with_stream);
  }
}

FileFacts SerialReader::facts() const {
  FileFacts facts = facts_of(multifile_.files.front().header);
  facts.unclosed = !multifile_.closed();
  facts.compressed = multifile_.files.front().plain != nullptr;
  return facts;
}

ReadPosition SerialReader::position_of(int64_t task) { return task == task_ ? stream_.park() : parked(task); }

ReadPosition SerialReader::parked(int64_t task) const {
  const auto at = positions_.find(task);
  return at == positions_.end() ? ReadPosition{} : at->second;
}

namespace {

int64_t group_begin(int64_t task) { return task / format::group_tasks * format::group_tasks; }

// The physical file that holds `task`, its number in there in `local_rank`.
std::shared_ptr<File> find_task(Store& store, const std::string& path, int64_t task, Checking checking,
                                int64_t& local_rank, int64_t& ntasks) {
  auto file = store.open(path, Access::read);
  MetadataReader reader(store, *file);
  reader.set_checking(checking);
  local_rank = task;
  ntasks = reader.header().ntasks;
  if (!reader.header().leads_set()) return file;
  const format::Pointer p = reader.read_pointer();
  ntasks = reader.read_mapping_size(p);
  if (task < 0 || task >= ntasks)
    throw Error(Code::out_of_range, "'" + path + "': there is no task " + std::to_string(task) +
                                        "; the multifile holds tasks 0 to " + std::to_string(ntasks - 1));
  if (FileChecks* const checks = reader.checks(p))
    checks->check_mapping(group_begin(task), format::group_tasks, ntasks);
  layout::Placement at;
  reader.read_mapping(p, task, std::span(&at, 1));
  local_rank = at.local_rank;
  // A wrong number of blocks in file 0 would have led to another place than the mapping. Whoever stays in
  // file 0 finds out.
  if (at.file != 0 && reader.header().ntasks > 0) read_geometry(reader, p, 0);
  if (at.file != 0) file = store.open(format::physical_name(path, at.file), Access::read);
  MetadataReader member(*file);
  const format::Header& h = member.header();
  if (h.nfiles != reader.header().nfiles || h.filenumber != at.file || local_rank >= h.ntasks)
    member.damaged("is file " + std::to_string(h.filenumber) + " of " + std::to_string(h.nfiles) + " with " +
                   std::to_string(h.ntasks) + " tasks, where the mapping of '" + path + "' has task " +
                   std::to_string(local_rank) + " of file " + std::to_string(at.file) + " of " +
                   std::to_string(reader.header().nfiles));
  return file;
}

}  // namespace

TaskReader::TaskReader(Store& store, const std::string& path, int64_t task, const OpenMode& mode)
    : task_(task) {
  stream_.set_max_buffer(mode.read_buffer());
  auto file = find_task(store, path, task, mode.checking(), local_rank_, ntasks_);
  const auto tables = std::make_shared<SharedReader>();
  tables->reader = std::make_unique<MetadataReader>(store, *file);
  MetadataReader& reader = *tables->reader;
  reader.set_checking(mode.checking());
  header_ = reader.header();
  const format::Pointer p = tables->pointer = reader.read_pointer();
  unclosed_ = !p.complete();
  const layout::ChunkGeometry geometry = read_geometry(reader, p, local_rank_);
  blocks_ = BlocksOfTask(tables, geometry, local_rank_);
  reader.read_globalranks(local_rank_, std::span(&globalrank_, 1));
  SumsPlace sums;
  if (FileChecks* const checks = reader.checks(p)) {
    const int64_t group = group_begin(local_rank_);
    sums = checks->check_tasks(
        group,
        std::min(format::group_tasks, header_.ntasks - group))[static_cast<size_t>(local_rank_ - group)];
  }
  if (unclosed_) file = with_edges(store, std::move(file));
  load_stream(stream_, header_, std::move(file), {task, geometry, unclosed_, sums}, blocks_.sizes());
}

}  // namespace sheaf
