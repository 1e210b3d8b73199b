#include "multifile/writer/writer.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/assert.hpp"
#include "base/checked.hpp"
#include "comm/reduce.hpp"
#include "exchange/transfer/throttle.hpp"
#include "multifile/create/commit.hpp"
#include "multifile/create/new_file.hpp"
#include "storage/retries.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

Writer::Writer(Store& store, std::unique_ptr<Comm> comm, std::string path, NameOf name_of,
               const OpenMode& mode)
    : store_(&store),
      comm_(std::move(comm)),
      path_(std::move(path)),
      name_of_(std::move(name_of)),
      buffer_(mode.buffer_bytes) {
  facts_.userdata_order = mode.userdata_order;
  facts_.keyval = mode.keyval == format::KeyvalMode::inline_;
  facts_.durable = mode.durable;
  facts_.compressed = mode.compression.on();
  replaces_ = mode.replaces;
  stream_.chunks().watch_length(mode.is_local);
  stream_.target().keep_journal(store, mode.journal, mode.durable);
}

Writer::Writer(Store& store, const SerialWriteRequest& request, const OpenMode& mode)
    : Writer(store, self_comm(), request.path, nullptr, mode) {
  alone_ = true;
  keeps_sizes_ = request.keep_sizes;
  placed_ = std::make_unique<PlacedState>();
  placed_->globalranks.assign(request.globalranks.begin(), request.globalranks.end());
  if (request.chunk_sizes.size() != placed_->globalranks.size())
    throw Error(Code::invalid_argument, "as many global ranks as chunk sizes are needed ('" + path_ + "')");
  std::vector<MappedWriteTask> tasks;
  ntasks_ = std::ssize(placed_->globalranks);
  facts_.filenumber = 1;
  const std::vector<layout::Placement> places = place_alone(request.nfiles, mode);
  for (size_t t = 0; t < places.size(); ++t)
    tasks.push_back({placed_->globalranks[t], request.chunk_sizes[t], places[t]});
  open_placed({request.path, facts_.nfiles, request.fsblksize, tasks, {}, request.stored_name}, mode);
}

Writer::Writer(Store& store, std::unique_ptr<Comm> comm, const MappedWriteRequest& request,
               const OpenMode& mode)
    : Writer(store, std::move(comm), request.path, request.name_of, mode) {
  placed_ = std::make_unique<PlacedState>();
  open_placed(request, mode);
}

namespace {

struct PlacedTasks {
  int64_t tasks = 0;
  std::array<int64_t, 2> identity{};  // from process 0
  constexpr void combine(auto& by) { by.sum(tasks).sum(identity); }
};

}  // namespace

void Writer::open_placed(const MappedWriteRequest& request, const OpenMode& mode) {
  facts_.nfiles = request.nfiles;
  if (facts_.compressed || format::extensible(request.stored_name.empty() ? path_ : request.stored_name))
    placed_->extension = mode.extension();
  if (placed_->extension && placed_->in_order) placed_->extension->flags |= format::flag_in_order;
  PlacedTasks placed{std::ssize(request.tasks)};
  if (placed_->extension && comm_->rank() == 0)
    placed.identity = std::bit_cast<decltype(placed.identity)>(placed_->extension->identity);
  reduce(*comm_, placed);
  if (placed_->extension) placed_->extension->identity = std::bit_cast<format::Identity>(placed.identity);
  ntasks_ = placed.tasks;
  agree(*comm_, attempt([&] {
    check(request);
    if (mode.atomic)
      require_committable(request.stored_name.empty() ? path_ : request.stored_name, request.nfiles);
    codec::require(mode.compression.codec, path_);
  }));

  find_unit();
  for (const MappedWriteTask& t : request.tasks)
    mine_.tasks.push_back({alone_ ? std::ssize(mine_.tasks) : t.globalrank, t.place, 0, 0, 0, {}});
  mine_.index();
  if (alone_ && mine_.files.empty()) mine_.files.emplace_back();
  placed_->rows = std::make_unique<MetadataPartition>(*comm_, ntasks_, slicing());
  std::vector<RequestedRow> rows;
  const Gathered collected = collect_rows(request, rows);
  if (!alone_ || facts_.nfiles > 1) collect_mapping();
  placed_->slots = exchange::share_slots(*comm_, *store_, mode.io_tasks);
  try {
    const std::vector<size_t> begun = create_files(request);
    open_own_files();
    lay_out(collected, rows);
    keep_hosts_apart();
    agree(*comm_, attempt([&] {
      for (const size_t f : begun) {
        File& file = *mine_.files[f].file;
        drop_set_aside();
        empty(*store_, file);
        if (hosts_.count > 1 || !made_ ||
            std::ranges::find(made_->created, file.path()) == made_->created.end())
          remove_leftovers(*store_, file.path());
      }
    }));
    agree(*comm_, attempt([&] {
      write_metadata(placed_->segments, rows, request.stored_name.empty() ? path_ : request.stored_name,
                     placed_->extension);
    }));
  } catch (...) {
    discard();
    throw;
  }
  blocks_.resize(mine_.tasks.size());
  for (TaskBlocks& blocks : blocks_) blocks.piece = placed_->extension ? placed_->extension->piece : 0;
  if (facts_.compressed) compress(mode.compression, tasks_per_node());
  load_first();
}

// Returns the average number of tasks per host, at least 1. Collective.
int64_t Writer::tasks_per_node() { return std::max(1, comm_->size() / std::max(1, comm_->node_count())); }

// Begins compression. The codec must be available. `neighbours` is the number of tasks that share the host's
// cores.
void Writer::compress(const codec::Compression& how, int64_t neighbours) {
  compressed_ = std::make_unique<CompressedWriter>(stream_, codec::with_threads(how, neighbours), path_);
  compressed_->parked.resize(mine_.tasks.size());
}

void Writer::bind(const OwnFile& file) {
  stream_.bind(file.file, OpenMode::buffer_in_bytes(buffer_, file.fsblksize));
  stream_.target().know_file(file.key);
}

void Writer::load_first() {
  if (mine_.files.empty()) {
    stream_.bind(placed_->no_task, 0);
  } else {
    bind(mine_.files[mine_.tasks.empty() ? 0 : mine_.tasks[0].file]);
  }
  if (!mine_.tasks.empty()) return enter(0);
  stream_.load({}, {}, 0);
}

// Makes a task the current one. The stream must be bound to its file.
void Writer::enter(size_t index) {
  const OwnTask& t = mine_.tasks[index];
  current_ = index;
  stream_.load(t.geometry, std::move(blocks_[index]), t.place.local_rank);
  if (compressed_) compressed_->load(std::move(compressed_->parked[index]), t.place.local_rank, t.geometry);
}

void Writer::park() {
  if (compressed_) compressed_->parked[current_] = compressed_->park();
  TaskBlocks& parked = blocks_[current_] = stream_.park();
  if (parked.new_overruns().empty()) return;
  for (size_t i = 0; i < mine_.tasks.size(); ++i)
    if (i != current_ && mine_.tasks[i].file == mine_.tasks[current_].file)
      overruns_.look(written(current_), written(i));
  parked.see_overruns();
}

WrittenTask Writer::written(size_t index, std::span<const uint32_t> sums) const {
  const OwnTask& t = mine_.tasks[index];
  return {t.task, t.place.file, t.geometry, blocks_[index], sums};
}

void Writer::check(const MappedWriteRequest& request) const {
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::invalid_argument, "'" + path_ + "': " + why);
  };
  if (request.nfiles <= 0)
    refuse("mapped writing needs the number of physical files, not " + std::to_string(request.nfiles));
  if (ntasks_ > INT32_MAX) refuse("more than 2^31-1 tasks");
  for (const MappedWriteTask& t : request.tasks) {
    const std::string task = "task " + std::to_string(alone_ ? &t - request.tasks.data() : t.globalrank);
    if (!alone_ && (t.globalrank < 0 || t.globalrank >= ntasks_))
      refuse(task + ": the global ranks of " + std::to_string(ntasks_) + " tasks must be 0 to " +
             std::to_string(ntasks_ - 1));
    if (t.place.file < 0 || t.place.file >= request.nfiles)
      refuse(task + ": there is no file " + std::to_string(t.place.file) + " of " +
             std::to_string(request.nfiles));
    if (t.place.local_rank < 0) refuse(task + ": local rank " + std::to_string(t.place.local_rank));
    if (t.chunk_size < 0)
      refuse("chunk size " + std::to_string(t.chunk_size) + " of " + task + " is negative");
  }
  format::physical_name(path_, request.nfiles - 1);
}

Writer::CreatedFiles& Writer::made() {
  if (!made_) made_ = std::make_unique<CreatedFiles>();
  return *made_;
}

// Creates a physical file or opens an existing one, without truncating. Local.
NewFile Writer::create(int32_t number, std::string_view stored_name) {
  const std::string name = name_of(number);
  const bool renamed = !name_of_ && !stored_name.empty();
  NewFile opened = create_file(*store_, name, renamed ? format::physical_name(stored_name, number) : name,
                               number == 0 || name_of_ ? std::string() : name_of(0),
                               replaces_ ? OldFile::set_aside : OldFile::kept);
  if (!opened.existed) made().created.push_back(name);
  if (!opened.aside.empty()) made().aside.emplace_back(opened.replaced, opened.aside);
  return opened;
}

// Removes the files that create() has renamed. Must be called when the open has reached the point at which it
// truncates existing files. Local.
void Writer::drop_set_aside() {
  if (!made_) return;
  for (const auto& [name, aside] : made_->aside) remove_set_aside(*store_, name, aside);
  made_->aside.clear();
}

// Creates the files in which this process has the task with local rank 0. Returns their indices in
// mine_.files.
std::vector<size_t> Writer::create_files(const MappedWriteRequest& request) {
  std::vector<size_t> begun;
  for (const OwnTask& t : mine_.tasks)
    if (t.place.local_rank == 0) begun.push_back(t.file);
  if (alone_ && begun.empty()) begun.push_back(0);
  agree(*comm_, attempt([&] {
    for (const size_t f : begun) {
      OwnFile& own = mine_.files[f];
      own.file = create(own.number, request.stored_name).file;
      own.fsblksize = choose_block_size(*own.file, request.fsblksize);
    }
  }));
  return begun;
}

void Writer::open_own_files() {
  agree(*comm_, attempt([&] {
    for (OwnFile& f : mine_.files) {
      if (!f.file) f.file = open_with_retries(*store_, name_of(f.number), Access::write);
      f.boundary_blocks = boundary_blocks_of(f.number);
      if (old())
        append_to(f);
      else
        f.file = boundary_file(std::move(f.file), f.boundary_blocks);
      f.file = throttled(std::move(f.file), placed_->slots);
    }
    if (mine_.files.empty()) placed_->no_task = open_with_retries(*store_, path_, Access::write);
  }));
}

void Writer::discard() {
  if (old() && unit_ > 0) give_back_pointers();
  if (!made_) return;
  for (const std::string& name : made_->created) {
    if (unit_ > 0) remove_leftovers(*store_, name, {}, hosts_.count);
    attempt([&] { store_->remove(name); });
  }
  for (const auto& [name, aside] : made_->aside) attempt([&] { store_->rename(aside, name); });
  made_->aside.clear();
}

// Ends the frames of all tasks, so that the stored streams contain all bytes written so far.
void Writer::commit_frames() {
  come_back();
  const size_t current = current_;
  auto problem = attempt([&] {
    for (size_t t = 0; t < compressed_->parked.size(); ++t) {
      if (t == current || compressed_->parked[t].pending.empty()) continue;
      change_to(t);
      compressed_->flush();
    }
  });
  // If a frame of another task could not be stored, that task stays loaded until a retry succeeds.
  if (auto stuck = attempt([&] { change_to(current); })) {
    leave(current);
    if (!problem) problem = std::move(stuck);
  }
  if (problem) throw *problem;
  compressed_->flush();
}

// Returns to the task that a failed commit has left. Also called by the stream itself, before its calls.
void Writer::come_back() {
  if (!compressed_ || !compressed_->left) return;
  const size_t task = *std::exchange(compressed_->left, std::nullopt);
  try {
    change_to(task);
  } catch (...) {
    leave(task);
    throw;
  }
}

void Writer::leave(size_t task) {
  compressed_->left = task;
  compressed_->stream().leave([this] { come_back(); });
}

void Writer::refuse(const FailedWrites::WriteRequest& request, const Error& why) {
  if (stream().geometry().size == 0) throw why;  // no retry can succeed for a task without a chunk
  // A merged stream belongs to the collector; this task has no position in it.
  const bool has_place = !collecting_ || !collecting_->plan.merge;
  const std::string place =
      has_place ? ", at byte " + std::to_string(stream().bytes_written()) + " of its stream," : "";
  failed_.fail(request, why,
               "'" + path() + "': a write of " + std::to_string(request.bytes()) + " bytes by task " +
                   std::to_string(request.task) + place + " has failed and was not repeated");
  throw why;
}

const TaskBlocks& Writer::blocks_of(int64_t task) {
  const size_t i = mine_.find(task, path_);
  if (i == current_) return stream().blocks();
  return compressed_ ? compressed_->parked[i].blocks : blocks_[i];
}

int64_t Writer::bytes_held() const {
  return std::ssize(mine_.tasks) * static_cast<int64_t>(sizeof(OwnTask) + sizeof(TaskBlocks));
}

FileFacts Writer::facts() const {
  FileFacts facts = facts_;
  if (mine_.tasks.empty()) return facts;
  if (facts.nfiles > 1) facts.filenumber = mine_.tasks[current_].place.file;
  facts.fsblksize = mine_.files[mine_.tasks[current_].file].fsblksize;
  return facts;
}

void Writer::select(int64_t task_number) {
  const size_t next = mine_.find(task_number, path_);
  come_back();
  change_to(next);
  stray_ = {};
}

void Writer::change_to(size_t next) {
  SHEAF_ASSERT(next < mine_.tasks.size());
  if (next == current_) return;
  const OwnTask& from = mine_.tasks[current_];
  const OwnTask& to = mine_.tasks[next];
  if (stream_.target().keeps_journal()) {
    unreported_.resize(mine_.tasks.size());
    unreported_[current_] = 1;
  }
  if (from.file == to.file) {
    park();
    return enter(next);
  }
  OwnFile &before = mine_.files[from.file], &after = mine_.files[to.file];
  change_handle(stream_, before.handle, after.handle, [&] {
    park();
    before.journal = stream_.target().release_journal();
    bind(after);
    stream_.target().attach(std::move(after.journal));
    enter(next);
  });
}

}  // namespace sheaf::multifile
