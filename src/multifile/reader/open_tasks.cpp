#include "multifile/reader/open_tasks.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "multifile/create/commit.hpp"
#include "multifile/metadata/boundary_blocks_reader.hpp"
#include "multifile/metadata/parallel_open.hpp"
#include "multifile/stream/file_checks.hpp"

namespace sheaf::multifile {

std::shared_ptr<File> FilesOfAttempt::open(int32_t number, NameExpectation name) {
  if (const auto found = kept_.find(number); found != kept_.end()) return found->second;
  auto file = name == NameExpectation::existing ? tables_.open(number) : tables_.open_member(number);
  if (kept_.size() < max_kept) kept_.emplace(number, file);
  return file;
}

OpenTasks::OpenTasks(Store& store, Comm& comm, const MappedReadRequest& request, const OpenMode& mode,
                     PartitionRows* appends, Slicing slicing) {
  const auto generation = std::make_shared<GenerationStore>(store, request.path);
  tables_ = std::make_unique<SetTables>(generation, request.path, request.name_of, mode.checking());
  generation->open_multifile(comm, [&] {
    try {
      if (appends && generation->record()) {
        agree_with(comm,
                   comm.rank() == 0 ? attempt([&] { finish_commit(store, request.path); }) : std::nullopt, 0);
        generation->forget_record();
      }
      FilesOfAttempt opened(*tables_);
      std::shared_ptr<File> first;
      SetLead lead = tables_->read_lead(comm, first);
      if (first) opened.keep(0, first);
      generation->expect(lead.identity);
      facts_ = lead.facts();
      ntasks_ = lead.ntasks;
      own = {};
      choose_tasks(comm, request);
      find_places(comm, lead, first);
      PartitionRows own_tables;
      PartitionRows& tables = appends ? *appends : own_tables;
      tables.segments.clear();
      tables.appends = appends != nullptr;
      find_rows(comm, count_files(comm, lead, opened), slicing, tables);
      std::vector<Readable> rows = read_rows(comm, lead, tables, opened);
      agree(comm, attempt([&] {
              open_own_files(lead, opened, *generation);
              take_rows(std::move(rows));
            }));
    } catch (...) {
      own = {};  // closes the files, so that a store that shares open files does not return them again
      no_task.reset();
      throw;
    }
  });
}

OpenTasks::OpenTasks(const FileFacts& facts, int64_t ntasks, int64_t task, int64_t file_tasks,
                     Readable stored)
    : facts_(facts), ntasks_(ntasks) {
  own.tasks.push_back({task, {stored.filenumber, stored.sums.local_rank}, 0, file_tasks, 0, stored.geometry});
  own.index();
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
  return {.filenumber = stored.filenumber,
          .globalrank = stored.globalrank,
          .file = plain,
          .geometry = plain->geometry(0),
          .sizes = plain->sizes_of(0)};
}

void OpenTasks::choose_tasks(Comm& comm, const MappedReadRequest& request) {
  const auto add = [this](int64_t task) {
    own.tasks.push_back({task, {0, static_cast<int32_t>(task)}, 0, 0, 0, {}});
  };
  agree(comm, attempt([&] {
          if (request.automatic) {
            // The first processes have one task more if the tasks cannot be divided evenly.
            const int64_t each = ntasks_ / comm.size();
            const int64_t more = ntasks_ % comm.size();
            const int64_t first = each * comm.rank() + std::min<int64_t>(more, comm.rank());
            const int64_t end = first + each + (comm.rank() < more ? 1 : 0);
            for (int64_t task = first; task < end; ++task) add(task);
          }
          for (const int64_t task : request.tasks) {
            if (task < 0 || task >= ntasks_)
              throw Error(Code::out_of_range, "'" + tables_->path() + "': there is no task " +
                                                  std::to_string(task) + "; the multifile holds tasks 0 to " +
                                                  std::to_string(ntasks_ - 1));
            add(task);
          }
        }));
}

// Reads the mapping of a set in slices of task numbers. Collective.
void OpenTasks::find_places(Comm& comm, const SetLead& lead, const std::shared_ptr<File>& lead_file) {
  own.index();
  if (!lead.header.leads_set()) return;
  std::vector<TaskRequest> wanted;
  for (const size_t i : own.by_number) wanted.push_back({own.tasks[i].task});
  const auto places = tables_->find_places(comm, MetadataPartition(comm, ntasks_), lead, wanted, lead_file);
  for (size_t k = 0; k < places.size(); ++k) own.tasks[own.by_number[k]].place = places[k];
  own.index();
}

// Counts the tasks per file. Collective; every process reads the heads of its share of the physical files.
std::vector<FileShare> OpenTasks::count_files(Comm& comm, const SetLead& lead, FilesOfAttempt& opened) {
  const auto border = [&](int64_t rank) { return static_cast<int32_t>(files() * rank / comm.size()); };
  std::vector<FileShare> share;
  agree(comm, attempt([&] {
          for (int32_t k = border(comm.rank()); k < border(comm.rank() + 1); ++k) {
            const auto file = opened.open(k, NameExpectation::unverified);
            const MetadataReader reader(*file);
            tables_->check_member(reader, lead, k);
            share.push_back({k, reader.header().ntasks});
          }
        }));
  return share;
}

void OpenTasks::find_rows(Comm& comm, std::span<const FileShare> share, Slicing slicing,
                          PartitionRows& tables) {
  int64_t all = 0;
  for (const FileShare& f : share) all += f.tasks;
  comm.all_sum(std::span(&all, 1));
  tables.rows = std::make_unique<MetadataPartition>(comm, all, slicing);
  own.find_rows(comm, files(), share, *tables.rows, tables.segments, [](int32_t, int64_t) {});
  agree(comm, attempt([&] {
          for (const OwnTask& t : own.tasks)
            if (t.place.local_rank >= t.file_tasks)
              throw file_error(Code::damaged, tables_->path(),
                               "the mapping sends task " + std::to_string(t.task) + " to task " +
                                   std::to_string(t.place.local_rank) + " of file " +
                                   std::to_string(t.place.file) + ", which has only " +
                                   std::to_string(t.file_tasks));
        }));
}

// Reads the rows of the local tasks, in the order of `own.by_row`. Collective.
std::vector<Readable> OpenTasks::read_rows(Comm& comm, SetLead& lead, PartitionRows& tables,
                                           FilesOfAttempt& opened) {
  std::vector<TaskRequest> wanted;
  for (const size_t i : own.by_row) wanted.push_back({own.tasks[i].row});
  std::vector<Readable> rows = tables_->read_rows(comm, lead, tables, wanted, [&](int32_t number) {
    return opened.open(number, NameExpectation::unverified);
  });
  facts_.unclosed = lead.unclosed;
  return rows;
}

// Opens the files of the local tasks. Local.
void OpenTasks::open_own_files(const SetLead& lead, FilesOfAttempt& opened, GenerationStore& generation) {
  for (OwnFile& f : own.files) f.file = opened.open(f.number, NameExpectation::existing);
  if (own.files.empty()) no_task = tables_->open(0);
  generation.check_identities();
  for (OwnFile& f : own.files) {
    f.file = generation.opened(f.file);
    if (facts_.unclosed) f.file = with_boundary_blocks(tables_->store(), std::move(f.file));
    f.file = watched(std::move(f.file), lead.identity_of(f.number));
  }
}

// Stores the rows of the local tasks, after their files were opened.
void OpenTasks::take_rows(std::vector<Readable> rows) {
  stored_.resize(own.tasks.size());
  for (size_t k = 0; k < rows.size(); ++k) {
    OwnTask& t = own.tasks[own.by_row[k]];
    t.geometry = rows[k].geometry;
    rows[k].filenumber = t.place.file;
    rows[k].file = own.files[t.file].file;
    stored_[own.by_row[k]] = std::move(rows[k]);
  }
}

}  // namespace sheaf::multifile
