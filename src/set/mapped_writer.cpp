#include "set/mapped_writer.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "creation/new_file.hpp"
#include "exchange/transfer/throttle.hpp"
#include "storage/patience.hpp"

namespace sheaf {

namespace {

struct MappingRow {
  int64_t row;  // task number
  layout::Placement place;
};

}  // namespace

MappedWriter::MappedWriter(Store& store, std::unique_ptr<Comm> comm, const MappedWriteRequest& request,
                           const OpenMode& mode)
    : store_(&store),
      comm_(std::move(comm)),
      path_(request.path),
      name_of_(request.name_of),
      buffer_(mode.buffer_bytes) {
  facts_.nfiles = request.nfiles;
  facts_.userdata_order = mode.userdata_order;
  facts_.keyval = mode.keyval == format::KeyvalMode::inline_;
  facts_.durable = mode.durable;
  facts_.compressed = mode.compression.on();
  stream_.keep_journal(store, mode.journal, mode.durable);
  if (facts_.compressed || format::extensible(request.stored_name.empty() ? path_ : request.stored_name))
    extension_ = mode.extension();
  std::array<int64_t, 3> sums{std::ssize(request.tasks)};  // and, of process 0, the identity
  if (extension_ && comm_->rank() == 0)
    std::memcpy(&sums[1], extension_->identity.data(), sizeof(format::Identity));
  comm_->all_sum(sums);
  if (extension_) std::memcpy(extension_->identity.data(), &sums[1], sizeof(format::Identity));
  ntasks_ = sums[0];
  mapping_entries_ = ntasks_;
  agree(*comm_, attempt([&] {
    check(request);
    codec::require(mode.compression.codec, path_);
  }));

  hosts_ = find_hosts(*comm_, *comm_);
  find_unit();
  for (const MappedWriteTask& t : request.tasks) mine_.tasks.push_back({t.globalrank, t.place, 0, 0, 0, {}});
  mine_.index();
  rows_ = std::make_unique<RowSlices>(*comm_, ntasks_, slicing());
  numbers_ = std::make_unique<RowSlices>(*comm_, ntasks_, unit_ > 0 ? Slicing::whole : Slicing::groups);
  const Gathered rows = collect_rows(request);
  collect_mapping();
  slots_ = share_slots(*comm_, store, mode.io_tasks);
  try {
    create_files(request);
    open_own_files();
    lay_out(rows);
    keep_hosts_apart();
    agree(*comm_, attempt([&] { empty_files(); }));
    agree(*comm_,
          attempt([&] { write_metadata(rows, request.stored_name.empty() ? path_ : request.stored_name); }));
  } catch (...) {
    discard();
    throw;
  }
  for (size_t i = 0; i < mine_.tasks.size(); ++i)
    blocks_.push_back(TaskBlocks::with_sums(extension_ ? extension_->piece : 0));
  if (facts_.compressed) compress(mode.compression);
  load_first();
}

// Collective. The codec is there.
void MappedWriter::compress(const codec::Compression& how) {
  const int64_t neighbours = std::max(1, comm_->size() / std::max(1, comm_->node_count()));
  compressed_ = std::make_unique<CompressedWriter>(stream_, codec::with_threads(how, neighbours), path_);
  compressed_tasks_.resize(mine_.tasks.size());
}

void MappedWriter::bind(const MappedFile& file) {
  stream_.bind(file.file, OpenMode::buffer_in_bytes(buffer_, file.fsblksize));
  stream_.know_file(file.key);
}

void MappedWriter::load_first() {
  if (mine_.tasks.empty()) {
    stream_.bind(no_task_, 0);
    return stream_.load({}, {}, 0);
  }
  bind(mine_.files[mine_.tasks[0].file]);
  enter(0);
}

// Makes the task the current one. The stream must be bound to its file.
void MappedWriter::enter(size_t index) {
  const MappedTask& t = mine_.tasks[index];
  current_ = index;
  stream_.load(t.geometry, std::move(blocks_[index]), t.place.local_rank);
  if (compressed_) compressed_->load(std::move(compressed_tasks_[index]), t.place.local_rank, t.geometry);
}

void MappedWriter::park() {
  if (compressed_) compressed_tasks_[current_] = compressed_->park();
  TaskBlocks& parked = blocks_[current_] = stream_.park();
  if (parked.new_overruns().empty()) return;
  for (size_t i = 0; i < mine_.tasks.size(); ++i)
    if (i != current_ && mine_.tasks[i].file == mine_.tasks[current_].file)
      overruns_.look(written(current_), written(i));
  parked.see_overruns();
}

WrittenTask MappedWriter::written(size_t index, std::span<const uint32_t> sums) const {
  const MappedTask& t = mine_.tasks[index];
  return {t.task, t.place.file, t.geometry, blocks_[index], sums};
}

void MappedWriter::finish_frames() {
  for (size_t i = 0; compressed_ && i < mine_.tasks.size(); ++i) {
    select(mine_.tasks[i].task);
    compressed_->finish();
  }
}

void MappedWriter::check(const MappedWriteRequest& request) const {
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::invalid_argument, "'" + path_ + "': " + why);
  };
  if (request.nfiles <= 0)
    refuse("mapped writing needs the number of physical files, not " + std::to_string(request.nfiles));
  if (ntasks_ > INT32_MAX) refuse("more than 2^31-1 tasks");
  for (const MappedWriteTask& t : request.tasks) {
    const std::string task = "task " + std::to_string(t.globalrank);
    if (t.globalrank < 0 || t.globalrank >= ntasks_)
      refuse(task + ": the global ranks of " + std::to_string(ntasks_) + " tasks must be 0 to " +
             std::to_string(ntasks_ - 1));
    if (t.place.file < 0 || t.place.file >= request.nfiles)
      refuse(task + ": there is no file " + std::to_string(t.place.file) + " of " +
             std::to_string(request.nfiles));
    if (t.place.local_rank < 0) refuse(task + ": local rank " + std::to_string(t.place.local_rank));
    if (t.chunk_size < 0) refuse(task + ": chunk size " + std::to_string(t.chunk_size) + " is negative");
  }
  format::physical_name(path_, request.nfiles - 1);
}

// Collective. Counts the files and brings every row to its leader; what is wrong with the places is found
// before anything is touched.
Gathered MappedWriter::collect_rows(const MappedWriteRequest& request) {
  std::vector<FileShare> own;
  for (const MappedFile& f : mine_.files) own.push_back({f.number, f.own_tasks});
  std::optional<Error> problem;
  mine_.find_rows(*comm_, facts_.nfiles, own, *rows_, segments_, [&](int32_t file, int64_t tasks) {
    if (tasks == 0 && !problem)
      problem = Error(Code::invalid_argument, "'" + path_ + "': file " + std::to_string(file) + " of " +
                                                  std::to_string(facts_.nfiles) +
                                                  " has no task, not even local rank 0");
  });
  for (const MappedTask& t : mine_.tasks)
    if (t.place.local_rank >= t.file_tasks && !problem)
      problem = Error(Code::invalid_argument,
                      "'" + path_ + "': the " + std::to_string(t.file_tasks) + " tasks of file " +
                          std::to_string(t.place.file) + " need the local ranks 0 to " +
                          std::to_string(t.file_tasks - 1) + " without gaps; task " + std::to_string(t.task) +
                          " has " + std::to_string(t.place.local_rank));
  agree(*comm_, problem);
  std::vector<MappedRow> rows;
  for (const size_t i : mine_.by_row)
    rows.push_back({mine_.tasks[i].row, mine_.tasks[i].task, request.tasks[i].chunk_size});
  Gathered collected = rows_->collect(std::span<const MappedRow>(rows));
  agree(*comm_, attempt([&] { check_rows(collected); }));
  return collected;
}

// As many rows as the slice has, so each is there exactly if none is there twice.
void MappedWriter::check_rows(const Gathered& collected) const {
  std::vector<bool> seen(static_cast<size_t>(rows_->count()));
  for (const MappedRow& r : records_of<MappedRow>(collected)) {
    const auto at = static_cast<size_t>(r.row - rows_->first());
    if (seen[at])
      throw Error(Code::invalid_argument, "'" + path_ + "': the place of task " +
                                              std::to_string(r.globalrank) +
                                              " (file and local rank) is given to another task as well");
    seen[at] = true;
  }
}

void MappedWriter::collect_mapping() {
  std::vector<MappingRow> rows;
  for (const size_t i : mine_.by_number) rows.push_back({mine_.tasks[i].task, mine_.tasks[i].place});
  const Gathered collected = numbers_->collect(std::span<const MappingRow>(rows));
  agree(*comm_, attempt([&] {
    mapping_.assign(static_cast<size_t>(numbers_->count()), {-1, -1});
    for (const MappingRow& r : records_of<MappingRow>(collected)) {
      layout::Placement& entry = mapping_[static_cast<size_t>(r.row - numbers_->first())];
      if (entry.file >= 0)
        throw Error(Code::invalid_argument,
                    "'" + path_ + "': two tasks have the global rank " + std::to_string(r.row));
      entry = r.place;
    }
  }));
}

// The process that has local rank 0 of a file creates it, without truncating.
void MappedWriter::create_files(const MappedWriteRequest& request) {
  block_sizes_.assign(mine_.files.size(), 0);
  agree(*comm_, attempt([&] {
    for (const MappedTask& t : mine_.tasks) {
      if (t.place.local_rank != 0) continue;
      const std::string name = name_of(t.place.file);
      const bool renamed = !request.name_of && !request.stored_name.empty();
      const std::string later = renamed ? format::physical_name(request.stored_name, t.place.file) : name;
      NewFile opened =
          create_file(*store_, name, later, t.place.file == 0 || name_of_ ? Naming::given : Naming::placed);
      mine_.files[t.file].file = std::move(opened.file);
      if (!opened.existed) created_.push_back(name);
      block_sizes_[t.file] = choose_block_size(*mine_.files[t.file].file, request.fsblksize);
    }
  }));
}

void MappedWriter::open_own_files() {
  agree(*comm_, attempt([&] {
    for (MappedFile& f : mine_.files) {
      if (!f.file) f.file = open_patiently(*store_, name_of(f.number), Access::write);
      f.edges = edges_of(f.number);
      f.file = throttled(edged(std::move(f.file), f.edges), slots_);
    }
    if (mine_.files.empty()) no_task_ = open_patiently(*store_, path_, Access::write);
  }));
}

void MappedWriter::discard() {
  for (const std::string& name : created_) {
    if (unit_ > 0) remove_leftovers(*store_, name, {}, hosts_.count);
    attempt([&] { store_->remove(name); });
  }
}

void MappedWriter::commit() {
  if (mine_.tasks.empty()) return;
  if (compressed_)
    flush_frames(*compressed_, compressed_tasks_, current_, [&](size_t i) { select(mine_.tasks[i].task); });
  stream_.commit();
  if (unreported_.empty()) return;
  const size_t own_file = mine_.tasks[current_].file;
  const bool syncs = facts_.durable || own_caches_;
  for (size_t f = 0; f < mine_.files.size(); ++f) {
    MappedFile& file = mine_.files[f];
    if (f != own_file && syncs) stream_.keep([&] { file.file->sync(); });
    for (size_t i = 0; i < mine_.tasks.size(); ++i) {
      if (!unreported_[i] || i == current_ || mine_.tasks[i].file != f) continue;
      const int64_t rank = mine_.tasks[i].place.local_rank;
      if (f == own_file) {
        stream_.report_parked(blocks_[i], rank);
        continue;
      }
      if (!file.journal)
        file.journal = std::make_unique<JournalWriter>(
            *store_, file.key, facts_.durable ? Journaling::durable : Journaling::wished);
      file.journal->report(*file.file, rank, blocks_[i].count() - 1, blocks_[i].high, false);
    }
    JournalWriter* const journal = f == own_file ? stream_.journal() : file.journal.get();
    if (!journal) continue;
    journal->confirm(*file.file);
    if (syncs) journal->sync(*file.file);
  }
  unreported_.clear();
}

FileFacts MappedWriter::facts() const {
  FileFacts facts = facts_;
  if (mine_.tasks.empty()) return facts;
  if (facts.nfiles > 1) facts.filenumber = mine_.tasks[current_].place.file;
  facts.fsblksize = mine_.files[mine_.tasks[current_].file].fsblksize;
  return facts;
}

void MappedWriter::select(int64_t task_number) {
  const size_t next = mine_.find(task_number, path_);
  if (next == current_) return;
  const MappedTask& from = mine_.tasks[current_];
  const MappedTask& to = mine_.tasks[next];
  if (stream_.keeps_journal()) {
    unreported_.resize(mine_.tasks.size());
    unreported_[current_] = true;
  }
  if (from.file == to.file) {
    park();
    return enter(next);
  }
  auto shared = stream_.release_handle();
  const bool sharing = shared != nullptr;
  const bool with_stream = sharing && shared->stream();
  mine_.files[from.file].handle = std::move(shared);
  park();
  mine_.files[from.file].journal = stream_.release_journal();
  bind(mine_.files[to.file]);
  stream_.attach(std::move(mine_.files[to.file].journal));
  enter(next);
  if (!sharing) return;
  if (auto& own = mine_.files[to.file].handle) {
    stream_.attach(std::move(own));
  } else {
    stream_.share(with_stream);
  }
}

}  // namespace sheaf
