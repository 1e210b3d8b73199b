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

// Input of an open, for all its attempts.
struct GroupOpenRequest {
  Comm& comm;
  const std::string& path;
  const OpenMode& mode;
  const NameOf& name_of;
  const Reader::MeansOf& means_of;
  GenerationStore& generation;
  std::shared_ptr<Store> store;  // opens the files; not the owner unless it is kept after the open
  Store& lasting;                // opens files beside them, and lives as long as the reader
  int levels = 0;                // of buddy copies
  std::shared_ptr<WriteSlots> slots;
};

// One attempt to open the task of each process. The steps are collective, in the order of the public calls.
class GroupOpen {
 public:
  explicit GroupOpen(const GroupOpenRequest& request)
      : r_(request),
        tables_(std::in_place, request.store, request.path, request.name_of, request.mode.checking()) {}

  // Finds the place of this task. Returns the tasks of its file; null: all tasks, in their order.
  std::unique_ptr<Comm> find_place() {
    const int rank = r_.comm.rank();
    if (r_.levels > 0)
      restore_from_buddies(r_.generation, r_.comm, r_.path, r_.levels, 1, rank == 0 ? 0 : -1);
    lead_ = tables_->read_lead(r_.comm, opening_);
    r_.generation.expect(lead_.identity);
    if (lead_.ntasks != r_.comm.size())
      throw Error(Code::out_of_range, "'" + r_.path + "' holds " + std::to_string(lead_.ntasks) +
                                          " tasks, but " + std::to_string(r_.comm.size()) +
                                          " tasks opened it; use as many, or open it serially");
    place_ = {0, rank};
    if (lead_.header.leads_set()) return find_place_in_set();
    if (!r_.mode.collective.renumber) return nullptr;
    place_.local_rank = renumbered(r_.mode.collective, r_.comm, 1).local_rank;
    return r_.comm.split(0, place_.local_rank);
  }

  // Returns how the tasks of the file read collectively, if they do. Sets the means for that.
  std::optional<CollectivePlan> plan_reading(Comm& local, CollectiveMeans& means) const {
    const CollectiveMode& mode = r_.mode.collective;
    means = {};
    if (r_.means_of && plan_of(mode, false, local.size()))
      means = r_.means_of(r_.comm, local, place_.file, lead_.header.nfiles);
    // The stored bytes that a task needs depend on what it has decompressed, so they cannot be planned.
    return lead_.header.compressed ? std::nullopt : plan_of(mode, false, local, means);
  }

  // Opens the file and reads the row of this task.
  void read_row(Comm& local, bool collective) {
    PartitionRows rows{std::make_unique<MetadataPartition>(local, Slicing::groups), {}, nullptr};
    add_segment(rows.segments, *rows.rows, place_.file, local.size(), 0);
    r_.generation.reads_metadata(!rows.segments.empty());
    const auto unopened = attempt([&] { open_file(local, collective); });
    const TaskRequest own_row{local.rank()};
    stored_ = std::move(tables_->read_rows(
        r_.comm, lead_, rows, std::span(&own_row, 1), [&](int32_t) { return opening_ ? opening_ : file_; },
        unopened)[0]);
    opening_.reset();
    tables_.reset();  // frees memory
  }

  // Returns the open task. Local.
  std::shared_ptr<OpenTasks> take_task(const Comm& local, bool collective) {
    const FileIdentity identity = lead_.identity_of(place_.file);
    if (collective) {
      static_cast<AggregatedReadFile&>(*file_).know(lead_.unclosed, identity);
    } else {
      if (lead_.unclosed) file_ = with_boundary_blocks(r_.lasting, std::move(file_));
      // Only independent reading is throttled; collsize limits collective reading instead.
      file_ = throttled(watched(std::move(file_), identity), r_.slots);
    }
    stored_.filenumber = place_.file;
    stored_.file = file_;
    auto tasks = std::make_shared<OpenTasks>(lead_.facts(), r_.comm.size(), r_.comm.rank(), local.size(),
                                             std::move(stored_));
    tasks->own.files[0].file = std::move(file_);
    return tasks;
  }
  // Returns true if the bytes of the file must be read or recovered to load a task, which may fail on any
  // task.
  bool may_fail_to_load() const { return lead_.header.compressed || lead_.unclosed; }

 private:
  std::unique_ptr<Comm> find_place_in_set() {
    const TaskRequest own_task{r_.comm.rank()};
    const int32_t nfiles = lead_.header.nfiles;
    // If files are restored from buddy copies, possibly only rank 0 can open file 0.
    MetadataPartition numbers(r_.comm, r_.levels > 0 ? Slicing::whole : Slicing::groups);
    place_ = tables_->find_places(r_.comm, std::move(numbers), lead_, std::span(&own_task, 1), opening_)[0];
    // With as many files as tasks, every task is alone in its file.
    auto local = nfiles == r_.comm.size() ? self_comm() : r_.comm.split(place_.file, place_.local_rank);
    if (r_.levels > 0)
      restore_from_buddies(r_.generation, r_.comm, r_.path, r_.levels, nfiles,
                           local->rank() == 0 ? place_.file : -1);
    return local;
  }

  void open_file(const Comm& local, bool collective) {
    if (local.rank() != 0 || place_.file != 0) opening_.reset();
    const std::string name = tables_->name(place_.file);
    // Task 0 has opened file 0; the other files are known only by name.
    if (!opening_ && (!collective || local.rank() == 0))
      opening_ = place_.file == 0 ? tables_->open(0) : tables_->open_member(place_.file);
    file_ = r_.generation.opened(opening_);
    if (collective) file_ = std::make_shared<AggregatedReadFile>(*r_.store, name, std::move(file_));
    if (local.rank() != place_.local_rank)
      throw file_error(Code::damaged, name,
                       "the mapping of the set leaves out or repeats a task of this file");
  }

  const GroupOpenRequest& r_;
  std::optional<SetTables> tables_;
  SetLead lead_;
  std::shared_ptr<File> opening_;  // the open file as its metadata are read; null: not open
  std::shared_ptr<File> file_;     // as the stream reads it
  layout::Placement place_;
  Readable stored_;
};

}  // namespace

Reader::Reader(Store& given, std::unique_ptr<Comm> comm, const std::string& path, const OpenMode& mode,
               const NameOf& name_of, const MeansOf& means_of)
    : comm_(std::move(comm)) {
  stream_.buffer().set_max(mode.read_buffer());
  // With buddy copies or collective reading, files are opened later as well, so the stores are kept.
  // Otherwise they are released after the open.
  std::optional<Stores> passing;
  std::shared_ptr<Stores> kept;
  if (mode.collective.buddies > 0 || plan_of(mode.collective, false, 1))
    kept = std::make_shared<Stores>(given, path, mode.collective.buddies);
  Stores& stores = kept ? *kept : passing.emplace(given, path, 0);
  const std::shared_ptr<Store> store(kept, &stores.opening());
  if (kept) copies_ = store;
  const GroupOpenRequest request{
      *comm_, path, mode, name_of, means_of, stores.generation, store, kept ? *store : given,
      // Buddy copies exist only of files that are named as in docs/format.md.
      name_of ? 0 : mode.collective.buddies, exchange::share_slots(*comm_, *store, mode.io_tasks)};
  CollectiveMeans means;
  std::optional<CollectivePlan> plan;
  std::optional<Error> unloaded;
  if (stores.copies) stores.generation.find_record(*comm_);
  stores.generation.open_multifile(*comm_, [&] {
    GroupOpen open(request);
    local_.reset();
    local_ = open.find_place();
    plan = open.plan_reading(local(), means);
    open.read_row(local(), plan.has_value());
    unloaded = attempt([&] {
      tasks_ = open.take_task(local(), plan.has_value());
      load(tasks_->readable(0), comm_->rank());
    });
    // A closed, uncompressed file needs no agreement: no bytes were read, so only an allocation can have
    // failed.
    if (open.may_fail_to_load() || plan) agree(*comm_, unloaded);
  });
  if (unloaded) throw *unloaded;
  if (plan) begin_collective(*plan, std::move(means));
}

// Forms the groups of collective reading. Collective. The stream's file must be the AggregatedReadFile that
// the constructor has created.
void Reader::begin_collective(const CollectivePlan& plan, CollectiveMeans means) {
  stream_.buffer().set_max(0);
  Comm& meeting = means.meeting ? *means.meeting : local();
  const FileFacts own = facts();
  const CollectiveGroup group = make_reading_groups(
      meeting, plan, means.mover ? Spread{} : Spread{find_nodes(*comm_), own.filenumber, own.nfiles});
  agree(*comm_, attempt([&] {
    collecting_ = std::make_unique<CollectiveReader>(
        meeting, group, plan, stream_, static_cast<AggregatedReadFile&>(stream_.blocks().file()),
        std::move(means));
  }));
}

}  // namespace sheaf::multifile
