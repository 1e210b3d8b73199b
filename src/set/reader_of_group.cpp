// Opening a multifile by a process for each of its tasks.
#include <algorithm>

#include "buddy/buddy.hpp"
#include "exchange/transfer/throttle.hpp"
#include "metadata/edges_reader.hpp"
#include "metadata/leaders.hpp"
#include "set/reader.hpp"
#include "storage/patience.hpp"
#include "stream/file_checks.hpp"

namespace sheaf {

using format::Header;
using format::Pointer;
using layout::Placement;

namespace {

void broadcast(Comm& comm, TravellingHeader& facts) {
  comm.broadcast(std::as_writable_bytes(std::span(&facts, 1)), 0);
}

// A task's row of the metadata arrays.
struct Row {
  int64_t chunk_size;
  int64_t count;
  int64_t first_size;
  int64_t sums_at;  // as in SumsPlace
  int64_t piece;
};

// Collective over the tasks of a physical file: this task's row, and the sizes of its blocks. Leaders read
// the rows of their slices. After a failure of the leader, also one before this call, the chunk size is -1.
Row read_row(Comm& comm, Store& store, File* file, const Header& header, const Pointer& p, Checking checking,
             std::vector<int64_t>& sizes, std::optional<Error>& problem) {
  Leaders leaders(comm);
  std::vector<Row> rows;
  Gathered more;  // sizes of the blocks behind the first
  const auto read = [&] {
    const size_t n = leaders.count();
    rows.resize(n);
    more.sizes.resize(n);
    MetadataReader reader(store, *file, header);
    reader.set_checking(checking);
    if (FileChecks* const checks = reader.checks(p)) {
      const std::vector<SumsPlace> sums = checks->check_tasks(leaders.first(), static_cast<int64_t>(n));
      for (size_t t = 0; t < n; ++t) {
        rows[t].sums_at = sums[t].at;
        rows[t].piece = sums[t].piece;
      }
    }
    std::vector<int64_t> values(n);
    const auto each = [&](auto&& set) {
      for (size_t t = 0; t < n; ++t) set(t, values[t]);
    };
    reader.read_chunk_sizes(leaders.first(), values);
    each([&](size_t t, int64_t value) { rows[t].chunk_size = value; });
    reader.read_block_counts(p, leaders.first(), values);
    each([&](size_t t, int64_t value) {
      rows[t].count = value;
      more.sizes[t] = 8 * (value - 1);
    });
    if (p.maxblocks > 0) reader.read_block_sizes(p, 0, leaders.first(), values);
    each([&](size_t t, int64_t value) { rows[t].first_size = value; });
    if (p.maxblocks <= 1) return;
    const std::vector<int64_t> offsets = more.offsets();
    more.bytes.resize(static_cast<size_t>(offsets.back()));
    for (int64_t round = 1; round < p.maxblocks; ++round) {
      reader.read_block_sizes(p, round, leaders.first(), values);
      each([&](size_t t, int64_t value) {
        if (round < rows[t].count)
          sheaf::store<int64_t>(more.bytes.data() + offsets[t] + 8 * (round - 1), value, native_order);
      });
    }
  };
  if (!problem && leaders.is_leader()) problem = attempt(read);
  if (problem) {
    rows.clear();
    more = {{}, std::vector<int64_t>(leaders.count(), 0)};
  }
  Row mine{};
  leaders.scatter(std::span<const Row>(rows), mine);
  if (mine.count == 0) mine.chunk_size = -1;
  sizes.assign(1, mine.first_size);
  if (p.maxblocks > 1) {
    const std::vector<std::byte> rest = leaders.scatter_any(more);
    sizes.resize(static_cast<size_t>(std::max<int64_t>(1, mine.count)));
    if (mine.count > 1) std::memcpy(sizes.data() + 1, rest.data(), rest.size());
  }
  return mine;
}

}  // namespace

Reader::Reader(Store& given, std::unique_ptr<Comm> comm, const std::string& path, const OpenMode& mode,
               const NameOf& name_of, const MeansOf& means_of)
    : comm_(std::move(comm)) {
  stream_.set_max_buffer(mode.read_buffer());
  const Checking checking = mode.checking();
  if (mode.collective.buddies > 0)
    copies_ = std::make_shared<BuddyStore>(given, path, mode.collective.buddies);
  Store& store = copies_ ? *copies_ : given;
  const int rank = comm_->rank();
  // Copies have names that follow the format.
  const int levels = name_of ? 0 : mode.collective.buddies;
  if (levels > 0) restore_from_buddies(given, *comm_, path, levels, 1, rank == 0 ? 0 : -1);
  const auto slots = share_slots(*comm_, store, mode.io_tasks);
  std::shared_ptr<File> file;
  TravellingHeader travelling = read_lead(store, path, name_of, checking, file);
  Header header;
  Pointer pointer;
  unpack(travelling, header, pointer);
  const FileFacts set = facts_of(header);
  Placement place{0, rank};
  std::optional<Error> problem;
  if (header.leads_set()) {
    place = find_place(store, path, travelling, name_of, checking, levels > 0, problem);
    // With as many files as tasks each file has one: everybody is alone.
    local_ = header.nfiles == comm_->size() ? self_comm() : comm_->split(place.file, place.local_rank);
    if (levels > 0)
      restore_from_buddies(given, *comm_, path, levels, header.nfiles,
                           local().rank() == 0 && !problem ? place.file : -1);
  }
  if (!header.leads_set() && mode.collective.renumber) {
    place.local_rank = renumbered(mode.collective, *comm_, 1).local_rank;
    local_ = comm_->split(0, place.local_rank);
  }
  CollectiveMeans means;
  if (means_of && plan_of(mode.collective, false, local().size()))
    means = means_of(*comm_, local(), place.file, set.nfiles);
  auto plan = plan_of(mode.collective, false, local(), means);
  if (set.compressed) plan.reset();  // what the tasks need of it depends on what they have decompressed
  std::string name;
  if (!problem) problem = attempt([&] { name = name_in_set(path, place.file, name_of); });
  open_file(store, name, set, travelling, place, checking, file, problem, plan.has_value());
  unpack(travelling, header, pointer);
  FileFacts facts = facts_of(header);

  Readable stored;
  const auto sizes = std::make_shared<std::vector<int64_t>>();
  const Row row = read_row(local(), store, file.get(), header, pointer, checking, *sizes, problem);
  stored.filenumber = place.file;
  stored.sizes = {sizes->data(), 1, static_cast<int32_t>(sizes->size())};
  stored.held = sizes;
  stored.sums = {row.sums_at, static_cast<uint32_t>(row.piece), place.local_rank};
  stored.geometry.size = row.chunk_size;
  const auto unsound = attempt([&] {
    PrefixedSum sum;
    const auto overflow = attempt([&] { sum = prefixed_sum(local(), std::max<int64_t>(0, row.chunk_size)); });
    if (problem || row.chunk_size < 0) return;  // this task or its leader failed, and says so below
    const MetadataReader checker(*file, header);
    if (header.compressed != set.compressed)
      checker.damaged("is compressed or not, unlike file 0 of its set");
    if (overflow) checker.damaged(overflow->what());
    checker.check_pointer(pointer, sum.total);
    stored.geometry.start = layout::data_start(header.ntasks, header.fsblksize) + sum.before;
    stored.geometry.skip = sum.total;
    for (int64_t b = 0; b < stored.sizes.count; ++b)
      checker.check_block(pointer, stored.geometry, place.local_rank, b, stored.sizes[b]);
  });
  int64_t unclosed = !pointer.complete();
  agree(*comm_, problem ? problem : unsound, std::span(&unclosed, 1));
  facts.unclosed = unclosed;
  const auto unloaded = attempt([&] {
    if (unclosed && plan) static_cast<FetchedFile&>(*file).rejoin();
    if (unclosed && !plan) file = with_edges(store, std::move(file));
    if (!plan) file = throttled(std::move(file), slots);  // else the collectors are as many as collsize says
    stored.file = file;
    tasks_ = std::make_shared<OpenTasks>(facts, comm_->size(), rank, header.ntasks, std::move(stored));
    tasks_->own.files[0].file = std::move(file);
    load(tasks_->readable(0), rank);
  });
  if (set.compressed || unclosed) agree(*comm_, unloaded);
  if (plan) begin_collective(*plan, std::move(means));
}

// Collective: who reads for whom. The file is the FetchedFile that open_file() has made.
void Reader::begin_collective(const CollectivePlan& plan, CollectiveMeans means) {
  stream_.set_max_buffer(0);
  Comm& meeting = means.meeting ? *means.meeting : local();
  const FileFacts own = facts();
  CollectiveGroup group = make_reading_groups(
      meeting, plan,
      means.mover ? Spread{} : Spread{exchange::find_nodes(*comm_), own.filenumber, own.nfiles});
  agree(*comm_, attempt([&] {
    collecting_ = std::make_unique<Collecting>();
    collecting_->means = std::move(means);
    collecting_->reader =
        std::make_unique<CollectiveReader>(meeting, std::move(group), plan, stream_,
                                           static_cast<FetchedFile&>(stream_.file()), collecting_->means);
  }));
}

// Rank 0 reads the head of the multifile for all.
TravellingHeader Reader::read_lead(Store& store, const std::string& path, const NameOf& name_of,
                                   Checking checking, std::shared_ptr<File>& file) {
  TravellingHeader facts{};
  const auto problem = attempt([&] {
    if (comm_->rank() != 0) return;
    file = store.open(path, Access::read);
    MetadataReader reader(store, *file, name_of);
    reader.set_checking(checking);
    const Pointer p = reader.read_pointer();
    const int64_t tasks = reader.header().leads_set() ? reader.read_mapping_size(p) : reader.header().ntasks;
    if (tasks != comm_->size())
      throw Error(Code::out_of_range, "'" + path + "' holds " + std::to_string(tasks) + " tasks, but " +
                                          std::to_string(comm_->size()) +
                                          " tasks opened it; use as many, or open it serially");
    facts = pack(reader.header(), p);
  });
  // What only one task brings is the largest.
  if (comm_->rank() != 0) std::ranges::fill(facts.values, INT64_MIN);
  agree(*comm_, problem, facts.values);
  return facts;
}

// Leaders read slices of the mapping in file 0 and tell every task where its stream is. lead_alone: only rank
// 0 may see file 0, and reads for all.
Placement Reader::find_place(Store& store, const std::string& path, const TravellingHeader& lead,
                             const NameOf& name_of, Checking checking, bool lead_alone,
                             std::optional<Error>& problem) {
  Leaders leaders(*comm_);
  const bool reads = lead_alone ? comm_->rank() == 0 : leaders.is_leader();
  const int64_t first = lead_alone ? 0 : leaders.first();
  std::vector<Placement> entries(!reads       ? 0
                                 : lead_alone ? static_cast<size_t>(comm_->size())
                                              : leaders.count());
  problem = attempt([&] {
    if (!reads) return;
    Header header;
    Pointer p;
    unpack(lead, header, p);
    const auto file = open_patiently(store, path, Access::read);
    MetadataReader reader(store, *file, header, name_of);
    reader.set_checking(checking);
    if (FileChecks* const checks = reader.checks(p))
      checks->check_mapping(first, std::ssize(entries), comm_->size());
    reader.read_mapping(p, first, entries);
  });
  if (problem) std::ranges::fill(entries, Placement{-1, static_cast<int32_t>(problem->code())});
  if (lead_alone && leaders.total() > 1) {
    std::vector<Outgoing> outgoing;
    for (int l = 0; reads && l < leaders.total(); ++l) {
      const auto from = static_cast<size_t>(leaders.leader(l));
      const size_t n = std::min(entries.size() - from, static_cast<size_t>(leaders.leader(1)));
      outgoing.push_back({static_cast<int>(from), std::as_bytes(std::span(entries).subspan(from, n))});
    }
    std::vector<Placement> slice(leaders.is_leader() ? leaders.count() : 0);
    std::vector<Incoming> incoming;
    if (leaders.is_leader()) incoming.push_back({0, std::as_writable_bytes(std::span(slice))});
    comm_->exchange(std::move(outgoing), std::move(incoming))->finish();
    entries = std::move(slice);
  }
  Placement place;
  leaders.scatter(std::span<const Placement>(entries), place);
  if (place.file >= 0) return place;
  // The leader has failed, and nothing is wrong with what this task will find.
  if (!problem)
    problem = Error(static_cast<Code>(place.local_rank),
                    "'" + path + "': where this task's data are could not be read");
  return {};
}

// The first task of each physical file reads its head for the others; all open it. After a failure, which the
// agreement at the end of the open tells, there may be no file.
void Reader::open_file(Store& store, const std::string& name, const FileFacts& set,
                       TravellingHeader& travelling, Placement place, Checking checking,
                       std::shared_ptr<File>& file, std::optional<Error>& problem, bool collectively) {
  const auto open = [&] {
    if (place.file == 0 && file) return;
    // Task 0 has opened file 0; others are only said to be there.
    file = open_patiently(store, name, Access::read,
                          place.file == 0 ? patience_with_names : patience_with_members);
  };
  if (local().rank() == 0 && !problem) {
    problem = attempt([&] {
      open();
      if (!local_) return;  // a single file: the facts of the lead are its own
      MetadataReader reader(store, *file);
      reader.set_checking(checking);
      travelling = pack(reader.header(), reader.read_pointer());
      const Header& h = reader.header();
      if (h.nfiles != set.nfiles || h.filenumber != place.file || h.ntasks != local().size())
        reader.damaged("does not belong to its set: file " + std::to_string(h.filenumber) + " of " +
                       std::to_string(h.nfiles) + " with " + std::to_string(h.ntasks) +
                       " tasks, where the mapping has " + "file " + std::to_string(place.file) + " of " +
                       std::to_string(set.nfiles) + " with " + std::to_string(local().size()) + " tasks");
    });
  }
  if (local_) broadcast(local(), travelling);
  if (!problem) {
    problem = attempt([&] {
      if (collectively) {
        if (local().rank() != 0) file.reset();
        file = std::make_shared<FetchedFile>(store, name, std::move(file));
      } else if (local().rank() != 0) {
        open();
      }
      if (local().rank() != place.local_rank)
        throw file_error(Code::damaged, file->path(),
                         "the mapping of the set leaves out or repeats a task of this file");
    });
  }
}

}  // namespace sheaf
