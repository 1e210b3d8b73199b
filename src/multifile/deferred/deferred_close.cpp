#include "multifile/deferred/deferred_close.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "multifile/metadata/parallel_open.hpp"
#include "multifile/stream/task_blocks.hpp"
#include "multifile/writer/closing_steps.hpp"

namespace sheaf::multifile {

namespace {

// Uncompressed bytes that one step compresses and writes, so that other work of the thread need not wait
// long.
constexpr int64_t stored_at_once = 4 << 20;

// Returns the size in bytes of the largest row (append_row()) of a task that stores at most `bytes` bytes.
int64_t largest_row(int64_t bytes, int64_t chunk, uint32_t piece) {
  const int64_t blocks = 2 + bytes / std::max<int64_t>(1, chunk);
  const int64_t sums = piece == 0 ? 0 : blocks + bytes / piece;
  return 8 * (3 + blocks) + 4 * sums;
}

}  // namespace

// Precedes the row of a task in the shared memory.
struct DeferredClose::RowArea {
  const int64_t capacity;  // bytes for the row; a multiple of 8
  const int32_t file;      // of the task
  const int32_t local_rank;
  std::atomic<int64_t> bytes = 0;  // size of the row; 0: not there yet

  std::byte* row() { return reinterpret_cast<std::byte*>(this + 1); }
  RowArea* next() { return reinterpret_cast<RowArea*>(row() + capacity); }
};

DeferredClose::~DeferredClose() = default;

std::unique_ptr<DeferredClose> DeferredClose::begin(Writer& writer, Comm& host_tasks) {
  SHEAF_ASSERT(writer.captures_frames());
  OpenedSet& set = writer.set_;
  std::unique_ptr<DeferredClose> deferred;
  agree(*set.comm, attempt([&] {
    deferred.reset(new DeferredClose);
    writer.failed_.require_none();
    writer.require_ownership(Ownership::LeaseCheck::name);
    for (const OwnTask& task : set.tasks) {
      writer.select(task.task);
      set.compressed->flush();
    }
    deferred->learn_identity(set);
  }));
  if (set.placed) return deferred;
  std::optional<Error> problem;
  int64_t lacks_memory = !deferred->share_rows(writer, host_tasks, problem);
  deferred->learn_mapping(set, problem);
  agree(*set.comm, problem, std::span(&lacks_memory, 1));
  if (lacks_memory) return nullptr;
  return deferred;
}

void DeferredClose::learn_identity(const OpenedSet& set) {
  if (!set.placed && set.local().rank() == 0) identity_ = set.stream->target().journal_key().identity;
  if (set.placed && set.placed->extension) identity_ = set.placed->extension->identity;
}

// Allocates memory for the rows of the tasks of this host. Collective over them. Returns false if they cannot
// share memory. An error of this task goes to `problem` unless that is set already.
bool DeferredClose::share_rows(Writer& writer, Comm& host_tasks, std::optional<Error>& problem) {
  const OpenedSet& set = writer.set_;
  const OwnTask& task = set.tasks[0];
  const int64_t row =
      largest_row(set.compressed->stored_bound(), task.geometry.size, set.stream->blocks().piece);
  const int64_t capacity = (row + 7) / 8 * 8;
  const PrefixedSum at = prefixed_sum(host_tasks, capacity + static_cast<int64_t>(sizeof(RowArea)));
  memory_ = host_tasks.share_memory(static_cast<size_t>(at.total));
  if (!memory_) return false;
  std::byte* const first = memory_->bytes().data();
  own_ = new (first + at.before) RowArea{capacity, task.place.file, static_cast<int32_t>(set.local().rank())};
  host_tasks.barrier();
  if (set.local().rank() != 0) return true;
  attempt(problem, [&] {
    rows_.resize(static_cast<size_t>(task.file_tasks));
    auto* area = reinterpret_cast<RowArea*>(first);
    for (int t = 0; t < host_tasks.size(); ++t, area = area->next())
      if (area->file == task.place.file) rows_[static_cast<size_t>(area->local_rank)] = area;
    SHEAF_ASSERT(std::ranges::find(rows_, nullptr) == rows_.end());
  });
  return true;
}

// Gathers the mapping at the task that will write it. Collective. An error of this task goes to `problem`
// unless that is set already.
void DeferredClose::learn_mapping(const OpenedSet& set, std::optional<Error>& problem) {
  if (set.terms.mapping_entries < 0 || set.terms.is_blockwise) return;
  const layout::Placement& place = set.tasks[0].place;
  int64_t writes = place.file == 0 && set.local().rank() == 0 ? set.comm->rank() : -1;
  set.comm->all_max(std::span(&writes, 1));
  const Gathered all = set.comm->gather(std::as_bytes(std::span(&place, 1)), static_cast<int>(writes));
  if (set.comm->rank() == writes) attempt(problem, [&] { mapping_ = records_of<layout::Placement>(all); });
}

SetComms DeferredClose::adopt(std::unique_ptr<Writer> writer, std::shared_ptr<Store> store) {
  store_ = std::move(store);
  writer_ = std::move(writer);
  // One process alone has a communicator that sends no messages, and its tables use it.
  if (writer_->set_.placed) return {};
  return std::move(static_cast<SetComms&>(writer_->set_));
}

DeferredClose::CloseProgress DeferredClose::advance() {
  OpenedSet& set = writer_->set_;
  if (next_ < set.tasks.size()) {
    writer_->select(set.tasks[next_].task);
    if (set.compressed->store_captured(stored_at_once)) ++next_;
    return CloseProgress::works;
  }
  if (set.placed) {
    writer_->close();
    const DeferredCompletion completion = writer_->take_deferred();
    SHEAF_ASSERT(completion.marks.size() <= 1);
    if (!completion.marks.empty()) mark_ = completion.marks.front();
    return CloseProgress::done;
  }
  if (!is_published_) publish_row();
  return rows_.empty() ? CloseProgress::done : write_tables();
}

// Ends the stream of this task, and passes its row to the first task of the file.
void DeferredClose::publish_row() {
  OpenedSet& set = writer_->set_;
  const OwnTask& task = set.tasks[0];
  const OwnFile& file = set.files[task.file];
  set.compressed->finish();
  writer_->park_all();
  set.stream->target().require_nothing_lost();
  std::vector<std::byte> row;
  const std::vector<uint32_t> sums = set.blocks[0].take_sums(*file.file, task.geometry);
  append_row(row, task.row, set.blocks[0], false, sums, INT64_MAX);
  if (!kept_open(set, file.number)) file.file->close();
  SHEAF_ASSERT(std::ssize(row) <= own_->capacity);
  std::memcpy(own_->row(), row.data(), row.size());
  own_->bytes.store(std::ssize(row), std::memory_order_release);
  is_published_ = true;
}

DeferredClose::CloseProgress DeferredClose::write_tables() {
  const auto is_there = [](RowArea* area) { return area->bytes.load(std::memory_order_acquire) > 0; };
  if (!std::ranges::all_of(rows_, is_there)) return CloseProgress::waits;
  Gathered rows;
  for (RowArea* const area : rows_) {
    rows.bytes.insert(rows.bytes.end(), area->row(), area->row() + area->bytes);
    rows.sizes.push_back(area->bytes);
  }
  const OpenedSet& set = writer_->set_;
  const OwnTask& task = set.tasks[0];
  const auto alone = self_comm();
  MetadataPartition slices(*alone, task.file_tasks, Slicing::whole);
  const BlockTable table(std::move(rows), slices, nullptr);
  SliceSums sums = table.sums();
  const Segment all{task.place.file, set.facts.fsblksize, 0,
                    task.file_tasks, task.file_tasks,     task.geometry.skip};
  std::optional<Error> problem;
  const auto segments = find_ends(set, slices, std::span(&all, 1), table, sums, problem);
  if (problem) throw *problem;
  SHEAF_ASSERT(segments.size() == 1 && segments[0].sound);
  SumRounds none;
  multifile::write_tables(set, segments, table, sums, none);
  if (!mapping_.empty()) write_mapping_of(set, segments[0], 0, mapping_);
  mark_ = mark_of(set, segments[0]);
  if (const OwnFile* const kept = kept_open(set, task.place.file)) kept->file->close();
  return CloseProgress::done;
}

}  // namespace sheaf::multifile
