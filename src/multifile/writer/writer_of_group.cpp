#include "multifile/writer/writer.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/assert.hpp"
#include "comm/collective_call.hpp"
#include "exchange/transfer/throttle.hpp"
#include "layout/placement.hpp"
#include "multifile/create/commit.hpp"
#include "multifile/create/file_table.hpp"
#include "multifile/create/new_file.hpp"
#include "storage/retries.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

namespace {

// Returns the number of physical files for the writers of one host with files=auto. It is so large that two
// simultaneous writers rarely use the same inode (docs/tuning.md, "How many physical files").
int64_t files_per_node() { return 4 * int64_t{std::max(1u, std::thread::hardware_concurrency())}; }

}  // namespace

Writer::Writer(Store& store, std::unique_ptr<Comm> comm, ParallelWriteRequest request, const OpenMode& mode)
    : Writer(store, std::move(comm), std::string(request.path), request.name_of, mode) {
  grouped_ = true;
  keeps_chunks_ = request.keeps_chunks;
  ntasks_ = comm_->size();
  blocks_.resize(1);
  if (mode.checksums && format::extensible(request.stored_name.empty() ? request.path : request.stored_name))
    stream_.chunks().blocks().piece = format::default_piece;
  Apart in_directory;
  choose_files(request, mode, in_directory);
  if (mode.atomic)
    require_committable(request.stored_name.empty() ? request.path : request.stored_name, facts_.nfiles);
  mine_.tasks.push_back(
      {comm_->rank(), {facts_.filenumber, local().rank()}, local().rank(), local().size(), 0, {}});
  mine_.index();
  auto slots = exchange::share_slots(*comm_, store, mode.io_tasks);
  try {
    if (auto plan = plan_of(mode.collective, true, local(), request.means)) {
      stream_.chunks().watch_length(false);  // the file may lack bytes that are still at a collector
      plan->may_collect &= request.means.may_collect;
      collecting_ = std::make_unique<CollectiveWriteState>(
          CollectiveWriteState{*plan, mode.collective.buddies, 0, request.fsblksize <= 0,
                               std::move(request.means), find_nodes(*comm_)});
    }
    open_group_file(request, mode, std::move(slots), in_directory);
  } catch (...) {
    discard();
    throw;
  }
}

// Chooses the number of files and the file of this task. Stores the properties of the directory in
// `in_directory` if it queries them. Collective.
void Writer::choose_files(ParallelWriteRequest& request, const OpenMode& mode, Apart& in_directory) {
  if (request.filenumber < 0 && mode.file_policy == FilePolicy::table) {
    const FilePlace place = read_file_table(*comm_, *store_, mode.table);
    request.filenumber = place.filenumber;
    request.nfiles = place.nfiles;
    request.local = place.nfiles > 1 ? comm_->split(place.filenumber, comm_->rank()) : nullptr;
  }
  if (request.filenumber >= 0) {
    facts_.filenumber = request.filenumber;
    facts_.nfiles = request.nfiles;
    if (facts_.nfiles > 1) local_ = std::move(request.local);
    return;
  }
  FilePolicy policy = mode.file_policy;
  if (mode.collective.renumber && policy == FilePolicy::caller && request.nfiles <= 0)
    throw Error(Code::invalid_argument, "'" + path_ + "': collmsa needs a number of physical files, not " +
                                            std::to_string(request.nfiles));
  if (policy == FilePolicy::automatic && comm_->node_count() > 1) {
    in_directory = find_apart();
    // The layout of one file cannot separate the hosts at such a large shared granularity, so every host
    // gets its own file.
    if (in_directory.unit > layout::largest_unit) policy = FilePolicy::per_node;
  }
  if (policy == FilePolicy::caller && request.nfiles > 0) {
    policy = FilePolicy::fixed;
    facts_.nfiles = request.nfiles;
  } else if (policy == FilePolicy::fixed) {
    facts_.nfiles = mode.files;
  } else if (policy == FilePolicy::automatic) {
    facts_.nfiles =
        static_cast<int32_t>(std::min<int64_t>(files_per_node() * comm_->node_count(), comm_->size()));
    policy = FilePolicy::fixed;
  } else if (policy == FilePolicy::per_node) {
    local_ = comm_->split_by_node();
  } else if (policy == FilePolicy::per_io_node) {
    policy = FilePolicy::per_node;
    local_ = split_by_io_node(*comm_);
  } else {
    int64_t given[2] = {request.local != nullptr, request.local == nullptr};
    agree(*comm_, std::nullopt, given);
    if (given[0] && given[1])
      throw Error(Code::mismatch, "'" + path_ + "': some tasks named a local communicator and some did not");
    if (request.local) local_ = std::move(request.local);
    policy = local_ ? FilePolicy::per_node : FilePolicy::fixed;
  }

  if (mode.collective.renumber) {
    const layout::Placement place =
        renumbered(mode.collective, *comm_, policy == FilePolicy::fixed ? facts_.nfiles : 0);
    facts_.filenumber = place.file;
    local_ = comm_->split(place.file, place.local_rank);
    return;
  }
  if (policy == FilePolicy::per_node) return number_local_groups();
  require_tasks_for_files();
  if (facts_.nfiles == 1) return;
  blockwise_ = true;
  facts_.filenumber = layout::place_blockwise(comm_->rank(), comm_->size(), facts_.nfiles).file;
  local_ = facts_.nfiles == comm_->size() ? self_comm() : comm_->split(facts_.filenumber, comm_->rank());
}

// Numbers the `local` groups in the order of the global ranks of their first tasks. Collective.
void Writer::number_local_groups() {
  int64_t number = local_->rank() == 0;
  int64_t groups = number;
  comm_->prefix_sum(std::span(&number, 1));
  comm_->all_sum(std::span(&groups, 1));
  local_->broadcast(std::as_writable_bytes(std::span(&number, 1)), 0);
  facts_.filenumber = static_cast<int32_t>(number);
  facts_.nfiles = static_cast<int32_t>(groups);
  // A single file has no mapping, so readers take the global rank as local rank. The writers must do the
  // same, even if the tasks of the group have another order.
  if (groups == 1) local_.reset();
}

// Opens the file of this task. The first task of each file creates it without truncating. A new file gets its
// metadata at once. Existing contents are discarded only after every task has opened its file. Collective.
void Writer::open_group_file(const ParallelWriteRequest& request, const OpenMode& mode,
                             std::shared_ptr<WriteSlots> slots, const Apart& in_directory) {
  const std::string_view stored_name = request.stored_name.empty() ? request.path : request.stored_name;
  NewGroups groups;
  std::shared_ptr<File> file;
  hosts_ = find_hosts(*comm_, local(), collecting_ ? &collecting_->nodes : nullptr);
  const bool on_several_hosts = comm_->node_count() > 1;
  struct Start {  // broadcast by the first task
    int64_t fsblksize = 0;
    int64_t existed = 0;  // before this open
    format::Identity identity{};
    uint64_t number = 0;  // FileStatus::number for tasks that open the file later; 0: unknown
    Apart apart;
  } start;
  std::optional<format::Extension> extension;  // set at the first task
  auto problem = attempt([&] {
    if (local().rank() != 0) return;
    NewFile opened = create(facts_.filenumber, request.stored_name);
    file = std::move(opened.file);
    start.existed = opened.existed;
    extension = mode.extension();
    if (extension && format::extensible(stored_name)) start.identity = extension->identity;
    if (on_several_hosts) {
      // Avoids a request to the file system if the properties of the directory are valid for its files, and
      // this file is in the directory.
      const bool is_known = in_directory.everywhere && !name_of_;
      start.apart = is_known ? in_directory : apart_by(store_->traits_of(*file));
      if (DirectIo* const past = file->traits().direct_io)
        past->know(static_cast<FileSystem>(start.apart.kind));
    }
    if (collecting_ && start.apart.own_caches == 0) start.number = file->status().number;
    start.fsblksize = choose_block_size(*file, request.fsblksize);
  });
  local().broadcast(std::as_writable_bytes(std::span(&start, 1)), 0);
  own_caches_ = start.apart.own_caches != 0;
  unit_ = hosts_.count > 1 ? start.apart.unit : 0;
  mine_.files[0].boundary_blocks = boundary_blocks_of(facts_.filenumber);
  facts_.fsblksize = static_cast<int32_t>(start.fsblksize);
  if (collecting_) collecting_->fsblksize = facts_.fsblksize;
  if (hosts_.count > 1 && made_ && !made_->created.empty() && !problem && stream_.target().keeps_journal())
    problem = attempt([&] { remove_earlier_journals(*store_, file->path(), hosts_.count); });

  stream_.target().know_file({.identity = start.identity,
                              .ntasks = local().size(),
                              .nfiles = facts_.nfiles,
                              .filenumber = facts_.filenumber,
                              .fsblksize = facts_.fsblksize,
                              .hosts = hosts_,
                              .own_caches = own_caches_,
                              .first = local().rank() == 0});

  // tasks_per_node() is collective, so a task must call it even if it has failed.
  const int64_t neighbours = mode.compression.on() ? tasks_per_node() : 1;
  int64_t aligned = 0;
  if (!problem && facts_.fsblksize > 0) {
    problem = attempt([&] {
      if (request.chunk_size < 0)
        throw Error(Code::invalid_argument, "'" + path_ + "': chunk size " +
                                                std::to_string(request.chunk_size) + " of task " +
                                                std::to_string(task()) + " is negative");
      if (collecting_) {
        collecting_->file =
            std::make_shared<AggregatedWriteFile>(*store_, name_of(facts_.filenumber), std::move(file),
                                                  std::move(slots), boundary_blocks(), start.number);
        file = collecting_->file;
      } else {
        if (!file) file = open_with_retries(*store_, name_of(facts_.filenumber), Access::write);
        file = throttled(boundary_file(std::move(file), boundary_blocks()), std::move(slots));
      }
      const bool holds = !collecting_ || collecting_->plan.merge;
      mine_.files[0].file = file;
      stream_.bind(std::move(file), holds ? OpenMode::buffer_in_bytes(buffer_, facts_.fsblksize) : 0);
      if (mode.compression.on()) compress(mode.compression, neighbours);
      aligned = layout::aligned_chunk(request.chunk_size, facts_.fsblksize);
    });
  }
  const bool opened = facts_.fsblksize > 0;  // otherwise the first task has failed
  if (opened) {
    const auto unformed = form_groups(problem ? 0 : request.chunk_size, aligned, groups);
    if (!problem) problem = unformed;
  }
  lay_out_group(aligned, stored_name, opened && !start.existed, problem, std::move(groups), extension);
}

// Chooses the collectors and the chunk sizes. Collectors open the file before it is changed. Collective over
// the tasks of the file. If one task fails, returns an error on all tasks.
std::optional<Error> Writer::form_groups(int64_t request, int64_t& chunk_size, NewGroups& groups) {
  if (!collecting_) return std::nullopt;
  return attempt([&] {
    const int64_t host = boundary_blocks() ? hosts_.mine : -1;
    groups = make_groups(
        meeting(), {request, collecting_->fsblksize, collecting_->chooses_blocks, host}, collecting_->plan,
        collecting_->means.mover ? Spread{} : Spread{collecting_->nodes, facts_.filenumber, facts_.nfiles});
    chunk_size = groups.chunk_size;
    JournalKey key = stream_.target().journal_key();
    key.fsblksize = facts_.fsblksize = static_cast<int32_t>(groups.fsblksize);
    stream_.target().know_file(key);
    const CollectiveGroup& group = groups.group;
    if (group.place().count == 1 && group.collector() == 0) return;  // the first task has its file open
    agree(meeting(), attempt([&] {
            if (group.is_collector() && collecting_->file) collecting_->file->real();
          }));
  });
}

// Places the chunks and writes META1. Collective over all tasks.
void Writer::lay_out_group(int64_t chunk_size, std::string_view base, bool is_new,
                           std::optional<Error> problem, NewGroups groups,
                           const std::optional<format::Extension>& extension) {
  layout::ChunkGeometry geometry;
  attempt(problem, [&] {
    const RegionPlan plan =
        collective_call(local().job_end(), "open", [&] { return plan_regions(chunk_size, groups); });
    chunk_size = plan.chunk.size;
    const PrefixedSum sum =
        groups.placed && !boundary_blocks() ? *groups.placed : prefixed_sum(local(), chunk_size);
    if (facts_.fsblksize == 0) return;  // the first task of the file has failed and reports it below
    const int64_t begin = layout::data_start(local().size(), facts_.fsblksize);
    must_fit(checked_add(begin, sum.total), "the multifile");
    geometry = {begin + sum.before, sum.total, plan.chunk.usable};
    if (!boundary_blocks()) return;
    std::vector<BoundaryBlocks::BoundaryRow> rows;
    const int64_t run = begin + plan.run.before;
    if (plan.run.sum > 0) rows.push_back({local().rank(), {run, run + plan.run.sum, 0}});
    boundary_blocks()->set(stream_.target().journal_key(), plan.unit, begin, geometry.skip, std::move(rows));
  });
  mine_.tasks[0].geometry = geometry;
  MetadataPartition slices(local(), boundary_blocks() ? Slicing::whole : Slicing::groups);
  const RequestedRow row{local().rank(), task(), chunk_size};
  const auto rows = records_of<RequestedRow>(slices.collect(std::span(&row, 1)));
  const auto write = [&] {
    if (!problem) problem = attempt([&] { write_metadata(own_segment(slices), rows, base, extension); });
    if (!problem && collecting_)
      problem = attempt([&] {
        collecting_->writer = std::make_unique<CollectiveWriter>(
            meeting(), std::move(groups), collecting_->plan, stream_, collecting_->file, collecting_->means);
      });
  };

  if (is_new) write();
  int64_t in_the_way = !is_new;
  agree(*comm_, problem, std::span(&in_the_way, 1));
  if (in_the_way) {
    if (!is_new) {
      // No task may write its slice before the first task has truncated the file.
      if (local().rank() == 0)
        problem = attempt([&] {
          drop_set_aside();
          empty(*store_, file());
          remove_leftovers(*store_, path(), {}, hosts_.count);
        });
      int64_t ready = !problem;
      local().broadcast(std::as_writable_bytes(std::span(&ready, 1)), 0);
      if (ready) write();
    }
    agree(*comm_, problem);
  }
  mine_.files[0].fsblksize = facts_.fsblksize;
  stream_.load(geometry, TaskBlocks::with_sums(stream_.blocks().piece), local().rank());
  if (compressed_) compressed_->load({}, local().rank(), geometry);
}

void Writer::resize_chunks(int64_t chunk_size) {
  if (!grouped_)
    throw Error(Code::wrong_mode,
                "'" + path_ + "': only a multifile opened in parallel for writing can be laid out anew");
  int64_t aligned = 0;
  std::string base;
  std::optional<format::Extension> extension;
  const auto problem = attempt([&] {
    if (local().rank() == 0) {
      MetadataReader before(file());
      base = before.header().name();
      extension = before.extension();
    }
    if (chunk_size < 0)
      throw Error(Code::invalid_argument, "chunk size " + std::to_string(chunk_size) + " is negative");
    stream().flush();
    // A stream whose last write failed may still hold frames.
    if (stream().blocks().count() > 1 || stream().bytes_written() > 0 || stream_.bytes_written() > 0)
      throw Error(Code::wrong_mode,
                  "'" + path() + "': chunk sizes can change only before anything is written");
    aligned = layout::aligned_chunk(chunk_size, facts_.fsblksize);
  });
  agree(*comm_, problem);
  NewGroups groups;
  if (collecting_) {
    collecting_->writer.reset();
    collecting_->file->hold(0, 0);
  }
  const auto unformed = form_groups(chunk_size, aligned, groups);
  stream_.target().release_journal();  // journal of the old layout
  lay_out_group(aligned, base, false, unformed, std::move(groups), extension);
}

void Writer::write_collectively(std::span<const std::byte> data, const std::optional<Error>& mine) {
  SHEAF_ASSERT(collective());
  if (!compressed_) return collective()->write(data, mine);
  // Collectors receive the stored bytes. A frame may contain bytes of several calls, and is stored by the
  // call that ends it.
  WriteStream& plain = compressed_->stream();
  std::optional<WriteStream::Mark> before;
  std::optional<Error> problem = mine;
  if (!problem)
    problem = attempt([&] {
      before = plain.mark();
      plain.write(data);
    });
  try {
    collective()->write({}, problem);
  } catch (...) {
    if (before && !problem) plain.return_to(*before);
    throw;
  }
}

}  // namespace sheaf::multifile
