// Opens a multifile with one process per task.
#include "exchange/transfer/throttle.hpp"
#include "multifile/buddy/buddy.hpp"
#include "multifile/generation/generation.hpp"
#include "multifile/metadata/boundary_blocks_reader.hpp"
#include "multifile/reader/reader.hpp"
#include "storage/retries.hpp"

namespace sheaf::multifile {

namespace {

// Stores through which a reader opens its files. `copies` is null if there are no buddy copies.
struct Stores {
  Stores(Store& given, const std::string& path, int levels)
      : generation(given, path),
        copies(levels > 0 ? std::make_unique<BuddyStore>(generation, path, levels) : nullptr) {}
  Store& opening() { return copies ? static_cast<Store&>(*copies) : generation; }

  GenerationStore generation;
  std::unique_ptr<BuddyStore> copies;
};

}  // namespace

Reader::Reader(Store& given, std::unique_ptr<Comm> comm, const std::string& path, const OpenMode& mode,
               const NameOf& name_of, const MeansOf& means_of)
    : comm_(std::move(comm)) {
  stream_.set_max_buffer(mode.read_buffer());
  // With buddy copies or collective reading, files are opened later as well, so the stores are kept.
  // Otherwise they are released after the open.
  std::optional<Stores> passing;
  std::shared_ptr<Stores> kept;
  const int levels_of_copies = mode.collective.buddies;
  if (levels_of_copies > 0 || plan_of(mode.collective, false, 1))
    kept = std::make_shared<Stores>(given, path, levels_of_copies);
  Stores& stores = kept ? *kept : passing.emplace(given, path, 0);
  GenerationStore& generation = stores.generation;
  Store& store = stores.opening();
  if (kept) copies_ = {kept, &store};
  const int rank = comm_->rank();
  // Buddy copies exist only of files that are named as in docs/format.md.
  const int levels = name_of ? 0 : mode.collective.buddies;
  const auto slots = exchange::share_slots(*comm_, store, mode.io_tasks);
  CollectiveMeans means;
  std::optional<CollectivePlan> plan;
  std::optional<Error> unloaded;
  if (stores.copies) generation.find_record(*comm_);
  generation.open_multifile(*comm_, [&] {
    if (levels > 0) restore_from_buddies(generation, *comm_, path, levels, 1, rank == 0 ? 0 : -1);
    std::optional<SetTables> tables;  // destroyed below to free memory, once the task has its row
    tables.emplace(std::shared_ptr<Store>(kept, &store), path, name_of, mode.checking());
    std::shared_ptr<File> file;
    const SetLead lead = tables->read_lead(*comm_, file);
    generation.expect(lead.identity);
    if (lead.ntasks != comm_->size())
      throw Error(Code::out_of_range, "'" + path + "' holds " + std::to_string(lead.ntasks) + " tasks, but " +
                                          std::to_string(comm_->size()) +
                                          " tasks opened it; use as many, or open it serially");
    layout::Placement place{0, rank};
    const TaskRequest own_task{rank};
    local_.reset();
    if (lead.header.leads_set()) {
      // If files are restored from buddy copies, possibly only rank 0 can open file 0.
      MetadataPartition numbers(*comm_, levels > 0 ? Slicing::whole : Slicing::groups);
      std::optional<Error> problem;
      place = tables->find_places(numbers, lead, std::span(&own_task, 1), file, problem)[0];
      agree(*comm_, problem);
      // With as many files as tasks, every task is alone in its file.
      local_ = lead.header.nfiles == comm_->size() ? self_comm() : comm_->split(place.file, place.local_rank);
      if (levels > 0)
        restore_from_buddies(generation, *comm_, path, levels, lead.header.nfiles,
                             local().rank() == 0 ? place.file : -1);
    } else if (mode.collective.renumber) {
      place.local_rank = renumbered(mode.collective, *comm_, 1).local_rank;
      local_ = comm_->split(0, place.local_rank);
    }
    means = {};
    if (means_of && plan_of(mode.collective, false, local().size()))
      means = means_of(*comm_, local(), place.file, lead.header.nfiles);
    plan = plan_of(mode.collective, false, local(), means);
    // The stored bytes that a task needs depend on what it has decompressed, so they cannot be planned.
    if (lead.header.compressed) plan.reset();
    const auto unopened = attempt([&] {
      if (local().rank() != 0 || place.file != 0) file.reset();
      const std::string name = tables->name(place.file);
      // Task 0 has opened file 0; the other files are known only by name.
      if (!file && (!plan || local().rank() == 0))
        file = place.file == 0 ? tables->open(0) : tables->open_member(place.file);
      if (plan) file = std::make_shared<AggregatedReadFile>(store, name, std::move(file));
      if (local().rank() != place.local_rank)
        throw file_error(Code::damaged, name,
                         "the mapping of the set leaves out or repeats a task of this file");
    });

    bool unclosed = !lead.pointer.complete();
    Readable stored;
    {
      MetadataPartition slices(local(), Slicing::groups);
      std::vector<Segment> segments;
      add_segment(segments, slices, place.file, local().size(), 0);
      const TaskRequest own_row{local().rank()};
      TableSlice table;
      stored = std::move(tables->read_rows(
          *comm_, slices, lead, segments, std::span(&own_row, 1), [&](int32_t) { return file; }, table, false,
          unclosed, unopened)[0]);
      tables.reset();
    }
    unloaded = attempt([&] {
      const FileIdentity identity = lead.identity_of(place.file);
      if (plan) static_cast<AggregatedReadFile&>(*file).know(unclosed, identity);
      if (unclosed && !plan) file = with_boundary_blocks(kept ? store : given, std::move(file));
      if (!plan) file = watched(std::move(file), identity);
      if (!plan) file = throttled(std::move(file), slots);  // collsize limits collective reading instead
      stored.filenumber = place.file;
      stored.file = file;
      FileFacts facts = lead.facts();
      facts.unclosed = unclosed;
      tasks_ = std::make_shared<OpenTasks>(facts, comm_->size(), rank, local().size(), std::move(stored));
      tasks_->own.files[0].file = std::move(file);
      load(tasks_->readable(0), rank);
    });
    // A closed, uncompressed file needs no agreement: no bytes were read, so only an allocation can have
    // failed.
    if (lead.header.compressed || unclosed || plan) agree(*comm_, unloaded);
  });
  if (unloaded) throw *unloaded;
  if (plan) begin_collective(*plan, std::move(means));
}

// Forms the groups of collective reading. Collective. The stream's file must be the AggregatedReadFile that
// the constructor has created.
void Reader::begin_collective(const CollectivePlan& plan, CollectiveMeans means) {
  stream_.set_max_buffer(0);
  Comm& meeting = means.meeting ? *means.meeting : local();
  const FileFacts own = facts();
  CollectiveGroup group = make_reading_groups(
      meeting, plan, means.mover ? Spread{} : Spread{find_nodes(*comm_), own.filenumber, own.nfiles});
  agree(*comm_, attempt([&] {
    collecting_ = std::make_unique<CollectiveReadState>();
    collecting_->means = std::move(means);
    collecting_->reader = std::make_unique<CollectiveReader>(meeting, std::move(group), plan, stream_,
                                                             static_cast<AggregatedReadFile&>(stream_.file()),
                                                             collecting_->means);
  }));
}

}  // namespace sheaf::multifile
