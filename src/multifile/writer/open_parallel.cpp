// Opens a multifile for writing by processes with one task each.
#include <algorithm>

#include "comm/agree.hpp"
#include "comm/reduce.hpp"
#include "exchange/transfer/throttle.hpp"
#include "layout/regions.hpp"
#include "multifile/create/commit.hpp"
#include "multifile/create/file_table.hpp"
#include "multifile/writer/host_separation.hpp"
#include "multifile/writer/open_to_write.hpp"
#include "multifile/writer/parallel_layout.hpp"
#include "storage/decorators/throttled_file.hpp"
#include "storage/retries.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

namespace {

// Returns the number of physical files with files=auto. It is so large that two simultaneous writers of a
// host rarely use the same inode (docs/tuning.md, "How many physical files"). The host with the most
// processors counts. Collective.
int32_t automatic_files(Comm& comm) {
  int64_t files_of_host = 4 * int64_t{comm.processors()};
  const int hosts = comm.node_count();
  if (hosts > 1) comm.all_max(std::span(&files_of_host, 1));
  return static_cast<int32_t>(std::min<int64_t>(files_of_host * hosts, comm.size()));
}

// Returns true if the tasks are in the groups of the callers, and false if these gave none. Collective.
bool take_local_groups(OpenedSet& set, std::unique_ptr<Comm> local) {
  MinMax given(local != nullptr);
  reduce(*set.comm, given);
  if (!given.is_same())
    throw Error(Code::mismatch, "'" + set.path + "': some tasks named a local communicator and some did not");
  set.files_comm = std::move(local);
  return set.files_comm != nullptr;
}

// Forms the groups of tasks with a file each, if there are such. Otherwise sets the number of files. Stores
// the properties of the directory in `in_directory` if it queries them. Collective. Returns true for groups.
bool form_file_groups(OpenedSet& set, ParallelWriteRequest& request, const OpenMode& mode,
                      HostSeparation& in_directory) {
  FilePolicy policy = mode.file_policy;
  if (policy == FilePolicy::automatic && set.comm->node_count() > 1) {
    in_directory = find_separation(set.store(), *set.comm, set.path);
    // The layout of one file cannot separate the hosts at such a large shared granularity, so every host
    // gets its own file.
    if (in_directory.unit() > layout::largest_unit) policy = FilePolicy::per_node;
  }
  switch (policy) {
    case FilePolicy::fixed:
      set.facts.nfiles = mode.files;
      return false;
    case FilePolicy::automatic:
      set.facts.nfiles = automatic_files(*set.comm);
      return false;
    case FilePolicy::per_node:
      set.files_comm = set.comm->split_by_node();
      return true;
    case FilePolicy::per_io_node:
      set.files_comm = split_by_io_node(*set.comm);
      return true;
    case FilePolicy::caller:
    case FilePolicy::table:  // read before
      break;
  }
  if (request.nfiles <= 0) return take_local_groups(set, std::move(request.local));
  set.facts.nfiles = request.nfiles;
  return false;
}

// Numbers the groups of local() in the order of the global ranks of their first tasks. Collective.
void number_local_groups(OpenedSet& set) {
  const PrefixedSum groups = prefixed_sum(*set.comm, set.local().rank() == 0);
  int64_t number = groups.before;
  set.local().broadcast(std::as_writable_bytes(std::span(&number, 1)), 0);
  set.facts.filenumber = static_cast<int32_t>(number);
  set.facts.nfiles = static_cast<int32_t>(groups.total);
  // A single file has no mapping, so readers take the global rank as local rank. The writers must do the
  // same, even if the tasks of the group have another order.
  if (groups.total == 1) set.files_comm.reset();
}

// Chooses the number of files and the file of this task. Stores the properties of the directory in
// `in_directory` if it queries them. Collective.
void choose_files(OpenedSet& set, ParallelWriteRequest& request, const OpenMode& mode,
                  HostSeparation& in_directory) {
  Comm& comm = *set.comm;
  if (request.filenumber < 0 && mode.file_policy == FilePolicy::table) {
    const FilePlace place = read_file_table(comm, set.store(), mode.table);
    request.filenumber = place.filenumber;
    request.nfiles = place.nfiles;
    request.local = place.nfiles > 1 ? comm.split(place.filenumber, comm.rank()) : nullptr;
  }
  if (request.filenumber >= 0) {
    set.facts.filenumber = request.filenumber;
    set.facts.nfiles = request.nfiles;
    if (set.facts.nfiles > 1) set.files_comm = std::move(request.local);
    return;
  }
  if (mode.collective.renumber && mode.file_policy == FilePolicy::caller && request.nfiles <= 0)
    throw Error(Code::invalid_argument, "'" + set.path + "': collmsa needs a number of physical files, not " +
                                            std::to_string(request.nfiles));
  const bool has_groups = form_file_groups(set, request, mode, in_directory);
  if (mode.collective.renumber) {
    const layout::Placement place = renumbered(mode.collective, comm, has_groups ? 0 : set.facts.nfiles);
    set.facts.filenumber = place.file;
    set.files_comm = comm.split(place.file, place.local_rank);
    return;
  }
  if (has_groups) return number_local_groups(set);
  require_tasks_for_files(set);
  if (set.facts.nfiles == 1) return;
  set.terms.is_blockwise = true;
  set.facts.filenumber = layout::place_blockwise(comm.rank(), comm.size(), set.facts.nfiles).file;
  set.files_comm =
      set.facts.nfiles == comm.size() ? self_comm() : comm.split(set.facts.filenumber, comm.rank());
}

// Values of a physical file that its first task finds and broadcasts.
struct FileStart {
  int64_t fsblksize = 0;  // 0: the first task has failed
  int64_t existed = 0;    // before this open
  format::Identity identity{};
  uint64_t number = 0;       // FileStatus::number for tasks that open the file later; 0: unknown
  bool takes_turns = false;  // its tasks write one after the other
  HostSeparation apart;
};

// The physical file of this task during its open.
struct GroupFile {
  bool spans_hosts = false;              // the multifile is written by several hosts
  std::shared_ptr<File> file = nullptr;  // null: this task has not opened it
  FileStart start = {};
  std::optional<format::Extension> extension = {};  // set at the first task
};

// Bytes of a task for which turns pay: they cost two broadcasts and a reduction, and two system calls per
// transfer.
constexpr int64_t min_bytes_for_turns = 1 << 20;

// Returns true if the tasks of the file should write one after the other. The system lets one task at a time
// write to a file; a task that waits keeps its processor busy, and one that waits for a slot sleeps. So if a
// host has more tasks than processors, turns let tasks that write other files run. Local.
bool should_take_turns(const OpenedSet& set, const ParallelWriteRequest& request, const OpenMode& mode) {
  return mode.io_tasks == 0 && !set.collecting && set.facts.nfiles > 1 && set.local().size() > 1 &&
         set.comm->size() > set.comm->processors() && request.chunk_size >= min_bytes_for_turns;
}

// Creates the file without truncating. Local. `in_directory` are the properties of the directory, if known.
void create_group_file(OpenedSet& set, const ParallelWriteRequest& request, const OpenMode& mode,
                       const HostSeparation& in_directory, GroupFile& made) {
  NewFile opened = create_in_set(set, set.facts.filenumber, request.stored_name,
                                 mode.replaces ? OldFile::set_aside : OldFile::kept);
  made.file = std::move(opened.file);
  made.start.existed = opened.existed;
  made.extension = mode.extension();
  if (made.extension && format::extensible(request.name_to_store()))
    made.start.identity = made.extension->identity;
  HostSeparation& apart = made.start.apart;
  if (made.spans_hosts) {
    // Avoids a request to the file system if the properties of the directory are valid for its files, and
    // this file is in the directory.
    apart = in_directory.everywhere && !set.names ? in_directory
                                                  : HostSeparation::by(set.store().traits_of(*made.file));
    made.file->know(apart.traits.kind);
  }
  if (set.collecting && !apart.own_caches()) made.start.number = made.file->status().number;
  made.start.takes_turns = !made.spans_hosts && should_take_turns(set, request, mode);
  made.start.fsblksize = choose_block_size(*made.file, request.fsblksize);
}

// Stores what the first task has found. Local.
void know_start(OpenedSet& set, const FileStart& start) {
  set.hosts.own_caches = start.apart.own_caches();
  set.hosts.unit = set.hosts.count > 1 ? start.apart.unit() : 0;
  set.files[0].boundary_blocks = boundary_blocks_of(set, set.facts.filenumber);
  set.facts.fsblksize = static_cast<int32_t>(start.fsblksize);
  if (set.collecting) set.collecting->fsblksize = set.facts.fsblksize;
  set.stream->target().know_file({.identity = start.identity,
                                  .ntasks = set.local().size(),
                                  .nfiles = set.facts.nfiles,
                                  .filenumber = set.facts.filenumber,
                                  .fsblksize = set.facts.fsblksize,
                                  .hosts = set.hosts,
                                  .own_caches = set.hosts.own_caches,
                                  .first = set.local().rank() == 0});
}

// Binds the stream to the file, which it opens if necessary. Local.
void bind_group_file(OpenedSet& set, const ParallelWriteRequest& request, GroupFile opened,
                     std::shared_ptr<WriteSlots> slots) {
  OwnFile& own = set.files[0];
  if (request.chunk_size < 0)
    throw Error(Code::invalid_argument, "'" + set.path + "': chunk size " +
                                            std::to_string(request.chunk_size) + " of task " +
                                            std::to_string(set.tasks[0].task) + " is negative");
  const std::string name = set.name_of(set.facts.filenumber);
  if (set.collecting) {
    own.file = set.collecting->file =
        std::make_shared<AggregatedWriteFile>(set.store(), name, std::move(opened.file), std::move(slots),
                                              own.boundary_blocks, opened.start.number);
  } else {
    if (!opened.file) opened.file = open_with_retries(set.store(), name, Access::write);
    own.file = throttled(boundary_file(std::move(opened.file), own.boundary_blocks), std::move(slots));
  }
  const bool holds = !set.collecting || set.collecting->plan.merge;
  set.stream->bind(own.file, holds ? OpenMode::buffer_in_bytes(set.buffer_bytes, set.facts.fsblksize) : 0);
}

// Opens the file of this task. The first task of each file creates it without truncating. A new file gets its
// metadata at once. Existing contents are discarded only after every task has opened its file. Collective.
void open_group_file(OpenedSet& set, const ParallelWriteRequest& request, const OpenMode& mode,
                     std::shared_ptr<WriteSlots> slots, const HostSeparation& in_directory) {
  static_cast<JournalHosts&>(set.hosts) =
      find_hosts(*set.comm, set.local(), set.collecting ? &set.collecting->nodes : nullptr);
  GroupFile opened{set.comm->node_count() > 1};
  auto problem = attempt([&] {
    if (set.local().rank() == 0) create_group_file(set, request, mode, in_directory, opened);
  });
  set.local().broadcast(std::as_writable_bytes(std::span(&opened.start, 1)), 0);
  know_start(set, opened.start);
  // If the slots cannot be created, the tasks write at the same time.
  if (opened.start.takes_turns) attempt([&] { slots = exchange::share_slots(set.local(), set.store(), 1); });
  if (set.hosts.count > 1 && set.made && !set.made->created.empty() && !problem &&
      set.stream->target().keeps_journal())
    problem = attempt([&] { remove_earlier_journals(set.store(), opened.file->path(), set.hosts.count); });

  // tasks_per_node() is collective, so a task must call it even if it has failed.
  const int64_t neighbours = mode.compression.on() ? tasks_per_node(*set.comm) : 1;
  const bool has_opened = set.facts.fsblksize > 0;  // otherwise the first task has failed
  GroupLayout layout{request.name_to_store(), opened.extension, has_opened && !opened.start.existed};
  if (has_opened) {
    if (!problem)
      problem = attempt([&] {
        bind_group_file(set, request, std::move(opened), std::move(slots));
        if (mode.compression.on()) compress(set, mode.compression, neighbours);
        layout.chunk_size = layout::aligned_chunk(request.chunk_size, set.facts.fsblksize);
      });
    const auto unformed = form_groups(set, problem ? 0 : request.chunk_size, layout);
    if (!problem) problem = unformed;
  }
  lay_out_group(set, std::move(layout), problem);
}

}  // namespace

OpenedSet open_parallel(Store& store, std::unique_ptr<Comm> comm, ParallelWriteRequest request,
                        const OpenMode& mode) {
  OpenedSet set = begin_set(store, std::move(comm), std::string(request.path), request.name_of, mode);
  set.hosts.keeps_chunks = request.keeps_chunks;
  set.ntasks = set.comm->size();
  set.blocks.resize(1);
  if (mode.checksums && format::extensible(request.name_to_store()))
    set.stream->chunks().blocks().piece = format::default_piece;
  HostSeparation in_directory;
  choose_files(set, request, mode, in_directory);
  if (mode.atomic) require_committable(request.name_to_store(), set.facts.nfiles);
  const int rank = set.local().rank();
  set.tasks.push_back({set.comm->rank(), {set.facts.filenumber, rank}, rank, set.local().size(), 0, {}});
  set.index();
  set.terms.kept_files = rank == 0 ? 1 : 0;
  if (set.facts.nfiles > 1) set.terms.mapping_entries = static_cast<int32_t>(set.ntasks);
  auto slots = exchange::share_slots(*set.comm, store, mode.io_tasks);
  try {
    if (auto plan = plan_of(mode.collective, true, set.local(), request.means)) {
      set.stream->chunks().watch_length(false);  // the file may lack bytes that are still at a collector
      plan->may_collect &= request.means.may_collect;
      set.collecting = std::make_unique<CollectiveWriteState>(
          CollectiveWriteState{*plan, mode.collective.buddies, 0, request.fsblksize <= 0,
                               std::move(request.means), find_nodes(*set.comm)});
    }
    open_group_file(set, request, mode, std::move(slots), in_directory);
  } catch (...) {
    undo_open(set);
    throw;
  }
  return set;
}

}  // namespace sheaf::multifile
