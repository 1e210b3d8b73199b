#include "multifile/writer/task_streams.hpp"

#include "base/assert.hpp"

namespace sheaf::multifile {

TaskStreams::TaskStreams(OpenedSet set) : set_(std::move(set)) {
  if (set_.tasks.empty())
    set_.stream->load({}, {}, 0);
  else
    enter(0);
}

// Makes a task the current one. The stream must be bound to its file.
void TaskStreams::enter(size_t index) {
  const OwnTask& t = set_.tasks[index];
  current_ = index;
  set_.stream->load(t.geometry, std::move(set_.blocks[index]), t.place.local_rank);
  if (set_.compressed)
    set_.compressed->load(std::move(set_.compressed->parked[index]), t.place.local_rank, t.geometry);
}

void TaskStreams::park() {
  if (set_.compressed) set_.compressed->parked[current_] = set_.compressed->park();
  TaskBlocks& parked = set_.blocks[current_] = set_.stream->park();
  if (parked.new_overruns().empty()) return;
  for (size_t i = 0; i < set_.tasks.size(); ++i)
    if (i != current_ && set_.tasks[i].file == set_.tasks[current_].file)
      overruns_.look(written(current_), written(i));
  parked.see_overruns();
}

WrittenTask TaskStreams::written(size_t index, std::span<const uint32_t> sums) const {
  const OwnTask& t = set_.tasks[index];
  return {t.task, t.place.file, t.geometry, set_.blocks[index], sums};
}

void TaskStreams::select(int64_t task) {
  const size_t next = set_.find(task, set_.path);
  come_back();
  change_to(next);
  stray_ = {};
}

void TaskStreams::change_to(size_t next) {
  SHEAF_ASSERT(next < set_.tasks.size());
  if (next == current_) return;
  const size_t from = set_.tasks[current_].file, to = set_.tasks[next].file;
  if (set_.stream->target().keeps_journal()) {
    unreported_.resize(set_.tasks.size());
    unreported_[current_] = 1;
  }
  if (from == to) {
    park();
    return enter(next);
  }
  OwnFile &before = set_.files[from], &after = set_.files[to];
  change_handle(*set_.stream, before.handle, after.handle, [&] {
    park();
    before.journal = set_.stream->target().release_journal();
    set_.bind(after);
    set_.stream->target().attach(std::move(after.journal));
    enter(next);
  });
}

// Ends the frames of all tasks, so that the stored streams contain all bytes written so far.
void TaskStreams::commit_frames() {
  come_back();
  const size_t current = current_;
  auto problem = attempt([&] {
    for (size_t t = 0; t < set_.compressed->parked.size(); ++t) {
      if (t == current || set_.compressed->parked[t].pending.empty()) continue;
      change_to(t);
      set_.compressed->flush();
    }
  });
  // If a frame of another task could not be stored, that task stays loaded until a retry succeeds.
  if (auto stuck = attempt([&] { change_to(current); })) {
    leave(current);
    if (!problem) problem = std::move(stuck);
  }
  if (problem) throw *problem;
  set_.compressed->flush();
}

// Returns to the task that a failed commit has left. Also called by the stream itself, before its calls.
void TaskStreams::come_back() {
  const auto& compressed = set_.compressed;
  if (!compressed || !compressed->left) return;
  const size_t task = *std::exchange(compressed->left, std::nullopt);
  try {
    change_to(task);
  } catch (...) {
    leave(task);
    throw;
  }
}

void TaskStreams::leave(size_t task) {
  set_.compressed->left = task;
  stream().leave([this] { come_back(); });
}

void TaskStreams::refuse(const FailedWrites::WriteRequest& request, const Error& why) {
  if (stream().geometry().size == 0) throw why;  // no retry can succeed for a task without a chunk
  // A merged stream belongs to the collector; this task has no position in it.
  const bool has_place = !set_.collecting || !set_.collecting->plan.merge;
  const std::string place =
      has_place ? ", at byte " + std::to_string(stream().bytes_written()) + " of its stream," : "";
  failed_.fail(request, why,
               "'" + path() + "': a write of " + std::to_string(request.bytes()) + " bytes by task " +
                   std::to_string(request.task) + place + " has failed and was not repeated");
  throw why;
}

const TaskBlocks& TaskStreams::blocks_of(int64_t task) {
  const size_t i = set_.find(task, set_.path);
  if (i == current_) return stream().blocks();
  return set_.compressed ? set_.compressed->parked[i].blocks : set_.blocks[i];
}

int64_t TaskStreams::bytes_held() const {
  return std::ssize(set_.tasks) * static_cast<int64_t>(sizeof(OwnTask) + sizeof(TaskBlocks));
}

FileFacts TaskStreams::facts() const {
  FileFacts facts = set_.facts;
  if (set_.tasks.empty()) return facts;
  const OwnTask& t = set_.tasks[current_];
  if (facts.nfiles > 1) facts.filenumber = t.place.file;
  facts.fsblksize = set_.files[t.file].fsblksize;
  return facts;
}

}  // namespace sheaf::multifile
