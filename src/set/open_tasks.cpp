#include "set/open_tasks.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "metadata/edges_reader.hpp"
#include "metadata/parallel_open.hpp"
#include "storage/patience.hpp"
#include "stream/file_checks.hpp"

namespace sheaf {

using format::Header;
using format::Pointer;

// The head of the first physical file, as process 0 found it.
struct OpenTasks::Lead {
  TravellingHeader header;
  int64_t ntasks;
};

namespace {

struct PlaceRequest {
  int64_t row;  // task number
};

}  // namespace

OpenTasks::OpenTasks(Store& store, Comm& comm, const MappedReadRequest& request, const OpenMode& mode,
                     AppendedTables* appends, Slicing slicing)
    : search_(new Search{&store, request.path, request.name_of, mode.checking()}) {
  const Lead lead = read_lead(comm);
  choose_tasks(comm, request);
  find_places(comm, lead);
  const std::vector<FileShare> share = count_files(comm);
  AppendedTables own_tables;
  AppendedTables& tables = appends ? *appends : own_tables;
  find_rows(comm, share, slicing, tables);
  read_rows(comm, tables, appends != nullptr);
  open_files(comm);
}

OpenTasks::OpenTasks(const FileFacts& facts, int64_t ntasks, int64_t task, int64_t file_tasks,
                     Readable stored)
    : facts_(facts), ntasks_(ntasks) {
  const layout::Placement place{stored.filenumber, stored.sums.local_rank};
  own.tasks.push_back({task, place, 0, file_tasks, 0, stored.geometry});
  own.index();
  own.files[0].fsblksize = facts.fsblksize;
  stored_.push_back(std::move(stored));
}

Readable OpenTasks::readable(size_t index) {
  const Readable& stored = stored_[index];
  if (!facts_.compressed) return stored;
  plain_.resize(stored_.size());
  std::shared_ptr<PlainFile>& plain = plain_[index];
  if (!plain) {
    const StoredTask task{own.tasks[index].task, stored.geometry, facts_.unclosed, stored.sums};
    plain = std::make_shared<PlainFile>(stored.file, std::vector{task}, [stored](ReadStream& stream, size_t) {
      stream.load(stored.file, stored.geometry, stored.sizes, {}, stored.sums);
    });
  }
  return {stored.filenumber, stored.globalrank, plain, plain->geometry(0), plain->sizes_of(0), nullptr, {}};
}

OpenTasks::Lead OpenTasks::read_lead(Comm& comm) {
  Lead lead{};
  agree(comm, attempt([&] {
          if (comm.rank() != 0) return;
          const auto file = search_->store->open(search_->path, Access::read);
          MetadataReader reader(*search_->store, *file, search_->name_of);
          reader.set_checking(search_->checking);
          const Pointer p = reader.read_pointer();
          lead.header = pack(reader.header(), p);
          lead.ntasks = reader.header().leads_set() ? reader.read_mapping_size(p) : reader.header().ntasks;
        }));
  comm.broadcast(std::as_writable_bytes(std::span(&lead, 1)), 0);
  Header h;
  Pointer p;
  unpack(lead.header, h, p);
  facts_ = facts_of(h);
  facts_.unclosed = !p.complete();
  ntasks_ = lead.ntasks;
  return lead;
}

void OpenTasks::choose_tasks(Comm& comm, const MappedReadRequest& request) {
  const auto add = [this](int64_t task) {
    own.tasks.push_back({task, {0, static_cast<int32_t>(task)}, 0, 0, 0, {}});
  };
  agree(comm, attempt([&] {
          if (request.automatic) {
            const int64_t each = ntasks_ / comm.size();
            const int64_t first = each * comm.rank();
            const int64_t end = comm.rank() + 1 == comm.size() ? ntasks_ : first + each;
            for (int64_t task = first; task < end; ++task) add(task);
          }
          for (const int64_t task : request.tasks) {
            if (task < 0 || task >= ntasks_)
              throw Error(Code::out_of_range, "'" + search_->path + "': there is no task " +
                                                  std::to_string(task) + "; the multifile holds tasks 0 to " +
                                                  std::to_string(ntasks_ - 1));
            add(task);
          }
        }));
}

// Collective. The mapping of a set, in slices of task numbers.
void OpenTasks::find_places(Comm& comm, const Lead& lead) {
  Header header;
  Pointer p;
  unpack(lead.header, header, p);
  own.index();
  if (!header.leads_set()) return;
  RowSlices numbers(comm, ntasks_);
  std::vector<PlaceRequest> wanted;
  for (const size_t i : own.by_number) wanted.push_back({own.tasks[i].task});
  const Gathered asked = numbers.collect(std::span<const PlaceRequest>(wanted));
  static_assert(sizeof(PlaceRequest) == sizeof(layout::Placement));
  Gathered answers;
  const auto problem = attempt([&] {
    if (numbers.count() == 0) return;
    std::vector<layout::Placement> entries(static_cast<size_t>(numbers.count()));
    const auto file = open_patiently(*search_->store, search_->path, Access::read);
    MetadataReader reader(*search_->store, *file, header, search_->name_of);
    reader.set_checking(search_->checking);
    if (FileChecks* const checks = reader.checks(p))
      checks->check_mapping(numbers.first(), numbers.count(), ntasks_);
    reader.read_mapping(p, numbers.first(), entries);
    std::vector<layout::Placement> found;
    for (const PlaceRequest& r : records_of<PlaceRequest>(asked))
      found.push_back(entries[static_cast<size_t>(r.row - numbers.first())]);
    const auto bytes = std::as_bytes(std::span(found));
    answers = {{bytes.begin(), bytes.end()}, asked.sizes};
  });
  const std::vector<std::byte> mine = numbers.answer(std::move(answers));
  agree(comm, problem);
  for (size_t k = 0; k < own.by_number.size(); ++k)
    std::memcpy(&own.tasks[own.by_number[k]].place, mine.data() + k * sizeof(layout::Placement),
                sizeof(layout::Placement));
  own.index();
}

// Collective. Every process reads the heads of its share of the physical files.
std::vector<FileShare> OpenTasks::count_files(Comm& comm) {
  const bool set = is_set();
  const int64_t files = set ? facts_.nfiles : 1;
  const auto border = [&](int64_t rank) { return static_cast<int32_t>(files * rank / comm.size()); };
  std::vector<FileShare> share;
  int64_t unclosed = facts_.unclosed;
  const auto problem = attempt([&] {
    for (int32_t k = border(comm.rank()); k < border(comm.rank() + 1); ++k) {
      const auto file =
          open_patiently(*search_->store, search_->name(k), Access::read, patience_with_members);
      MetadataReader reader(*search_->store, *file, search_->name_of);
      reader.set_checking(search_->checking);
      const Header& h = reader.header();
      unclosed |= !reader.read_pointer().complete();
      if (set && (h.nfiles != facts_.nfiles || h.filenumber != k))
        reader.damaged("is file " + std::to_string(h.filenumber) + " of " + std::to_string(h.nfiles) +
                       ", not file " + std::to_string(k) + " of the set '" + search_->path + "' of " +
                       std::to_string(facts_.nfiles));
      share.push_back({k, h.ntasks});
    }
  });
  agree(comm, problem, std::span(&unclosed, 1));
  facts_.unclosed = unclosed;
  return share;
}

void OpenTasks::find_rows(Comm& comm, std::span<const FileShare> share, Slicing slicing,
                          AppendedTables& tables) {
  int64_t all = 0;
  for (const FileShare& f : share) all += f.tasks;
  comm.all_sum(std::span(&all, 1));
  tables.rows = std::make_unique<RowSlices>(comm, all, slicing);
  const bool set = is_set();
  own.find_rows(comm, set ? facts_.nfiles : 1, share, *tables.rows, tables.segments, [](int32_t, int64_t) {});
  agree(comm, attempt([&] {
          for (const OwnTask& t : own.tasks)
            if (t.place.local_rank >= t.file_tasks)
              throw file_error(Code::damaged, search_->path,
                               "the mapping sends task " + std::to_string(t.task) + " to task " +
                                   std::to_string(t.place.local_rank) + " of file " +
                                   std::to_string(t.place.file) + ", which has only " +
                                   std::to_string(t.file_tasks));
        }));
}

// All processes open the files of their tasks.
void OpenTasks::open_files(Comm& comm) {
  agree(comm, attempt([&] {
          for (OwnFile& f : own.files) {
            f.file = open_patiently(*search_->store, search_->name(f.number), Access::read);
            if (facts_.unclosed) f.file = with_edges(*search_->store, std::move(f.file));
          }
          if (own.files.empty()) no_task = open_patiently(*search_->store, search_->path, Access::read);
          for (size_t i = 0; i < own.tasks.size(); ++i) stored_[i].file = own.files[own.tasks[i].file].file;
        }));
}

FileFacts OpenTasks::file_facts(size_t index) const {
  FileFacts facts = facts_;
  if (own.tasks.empty()) return facts;
  const OwnFile& file = own.files[own.tasks[index].file];
  if (is_set()) facts.filenumber = file.number;
  if (file.fsblksize > 0) facts.fsblksize = file.fsblksize;
  return facts;
}

int64_t OpenTasks::bytes_held() const {
  return std::ssize(own.tasks) * static_cast<int64_t>(sizeof(OwnTask) + sizeof(Readable));
}

std::vector<layout::Placement> OpenTasks::read_mapping() const {
  if (!search_) return {};
  std::vector<layout::Placement> entries(static_cast<size_t>(ntasks_));
  const auto file = search_->store->open(search_->path, Access::read);
  MetadataReader reader(*search_->store, *file, search_->name_of);
  reader.set_checking(search_->checking);
  if (reader.header().leads_set()) {
    const Pointer p = reader.read_pointer();
    if (FileChecks* const checks = reader.checks(p)) checks->check_mapping(0, ntasks_, ntasks_);
    reader.read_mapping(p, 0, entries);
  } else {
    for (size_t t = 0; t < entries.size(); ++t) entries[t].local_rank = static_cast<int32_t>(t);
  }
  return entries;
}

}  // namespace sheaf
