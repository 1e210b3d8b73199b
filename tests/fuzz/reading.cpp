#include "fuzz/reading.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "fuzz/targets.hpp"
#include "multifile/reader/reader.hpp"
#include "storage/decorators/shared_handles.hpp"
#include "support/fibers/fiber_comm.hpp"

namespace sheaf::fuzz {

using namespace multifile;

namespace {

void note_task(ReadContents& contents, int64_t task, int64_t globalrank,
               const std::function<TaskContents()>& read) {
  TaskContents found;
  const auto problem = attempt([&] { found = read(); });
  if (problem) {
    contents.failures[task] = problem->code();
    return;
  }
  found.globalrank = globalrank;
  contents.tasks[task] = std::move(found);
}

// Runs `body` on all processes and returns their common outcome. The processes must agree on the outcome of
// the open. If the open fails, `body` returns the error.
ReadOutcome on_processes(Store& inner, int processes, const std::function<ReadOutcome(Comm&, Store&)>& body) {
  SharedHandles store(inner);
  std::vector<ReadOutcome> outcomes(static_cast<size_t>(processes));
  FiberOptions options;
  options.ranks = processes;
  options.stack_bytes = 128 << 10;
  run_fibers(options, [&](Comm& comm) {
    auto& outcome = outcomes[static_cast<size_t>(comm.rank())];
    // `body` returns expected errors. It may throw other exceptions, which run_fibers reports.
    outcome = processes == 1 ? body(*self_comm(), store) : body(comm, store);
  });
  require(store.open_files() == 0, "all files are closed");
  ReadOutcome all = outcomes.front();
  for (ReadOutcome& o : outcomes) {
    if (o.error.has_value() != all.error.has_value())
      throw Contradiction{std::string("processes disagree about the open: ") +
                          (o.error ? o : all).error->what()};
    all.contents.tasks.merge(o.contents.tasks);
    all.contents.failures.merge(o.contents.failures);
  }
  return all;
}

}  // namespace

OpenMode mode_of(const char* words, const ReadSettings& settings) {
  OpenMode mode = parse_open_mode(words);
  mode.buffer_bytes = settings.buffer_bytes;
  return mode;
}

TaskContents read_task(ReadStream& stream) {
  TaskContents found;
  found.length = stream.sizes().total();
  found.bytes.resize(static_cast<size_t>(max_bytes));
  size_t at = 0;
  // Reads pieces of several sizes, so that some pass through the buffer and some bypass it.
  for (size_t piece = 1; at < found.bytes.size(); piece = piece * 5 + 2) {
    const auto room = std::span(found.bytes).subspan(at, std::min(piece, found.bytes.size() - at));
    const size_t got = stream.read(room);
    at += got;
    if (got < room.size()) break;
  }
  found.bytes.resize(at);
  require(std::ssize(found.bytes) == std::min(found.length, max_bytes), "as many bytes as the blocks claim");
  const bool all = std::ssize(found.bytes) == found.length;
  std::byte more{};
  require(!all || stream.read({&more, 1}) == 0, "nothing behind the end");  // passes empty blocks
  require(stream.at_end() == all, "end of a stream");
  // A read from the middle of the stream must yield the same bytes.
  const int64_t middle = std::ssize(found.bytes) / 2;
  require(stream.seek_absolute(middle) && stream.bytes_read() == middle, "seek into the middle");
  Bytes again(found.bytes.size() - static_cast<size_t>(middle));
  require(stream.read(again) == again.size() &&
              std::equal(again.begin(), again.end(), found.bytes.begin() + middle),
          "bytes after a seek");
  require(stream.seek_from_end(0) && stream.at_end() && !stream.seek_absolute(found.length + 1),
          "seek to the end");
  return found;
}

ReadOutcome read_serially(Store& store, const ReadSettings& settings) {
  ReadOutcome outcome;
  outcome.error = attempt([&] {
    Reader reader(store, "m", mode_of("r", settings));
    outcome.contents.ntasks = reader.ntasks();
    for (int64_t t = 0; t < std::min(reader.ntasks(), max_tasks); ++t)
      note_task(outcome.contents, t, reader.multifile().row(t).globalrank, [&] {
        reader.select(t);
        return read_task(reader.stream());
      });
  });
  return outcome;
}

ReadOutcome read_by_task(Store& store, int64_t ntasks, const ReadSettings& settings) {
  ReadOutcome outcome;
  for (int64_t t = 0; t <= std::min(ntasks, max_tasks - 1); ++t) {
    const auto problem = attempt([&] {
      Reader reader(store, "m", t, mode_of("r", settings));
      outcome.contents.ntasks = reader.ntasks();
      note_task(outcome.contents, t, reader.globalrank(), [&] { return read_task(reader.stream()); });
    });
    if (problem && t < ntasks) outcome.contents.failures[t] = problem->code();
    if (problem && t == 0) outcome.error = problem;
  }
  return outcome;
}

ReadOutcome read_in_parallel(Store& store, int64_t ntasks, const ReadSettings& settings) {
  const int processes = ntasks > 0 && ntasks <= max_tasks ? static_cast<int>(ntasks) : settings.processes;
  return on_processes(store, processes, [&](Comm& comm, Store& shared) {
    ReadOutcome outcome;
    std::optional<Reader> reader;
    outcome.error = attempt([&] { reader.emplace(shared, comm.duplicate(), "m", mode_of("r", settings)); });
    if (!reader) return outcome;
    outcome.contents.ntasks = reader->ntasks();
    note_task(outcome.contents, reader->task(), -1, [&] { return read_task(reader->stream()); });
    reader->close();
    return outcome;
  });
}

ReadOutcome read_mapped(Store& store, const ReadSettings& settings) {
  return on_processes(store, settings.processes, [&](Comm& comm, Store& shared) {
    ReadOutcome outcome;
    std::optional<Reader> reader;
    outcome.error = attempt([&] {
      reader.emplace(shared, comm.duplicate(), MappedReadRequest{"m", true}, mode_of("r", settings));
    });
    if (!reader) return outcome;
    outcome.contents.ntasks = reader->ntasks();
    for (const OwnTask& t : reader->tasks().first(std::min<size_t>(reader->tasks().size(), max_tasks)))
      note_task(outcome.contents, t.task, -1, [&] {
        reader->select(t.task);
        return read_task(reader->stream());
      });
    reader->close();
    return outcome;
  });
}

void require_same(const ReadContents& a, const ReadContents& b, const std::string& way) {
  require(a.ntasks == b.ntasks, way + ": number of tasks");
  for (const auto& [task, contents] : a.tasks) {
    const auto other = b.tasks.find(task);
    if (other == b.tasks.end()) continue;
    require(contents.length == other->second.length, way + ": length of task " + std::to_string(task));
    require(contents.bytes == other->second.bytes, way + ": bytes of task " + std::to_string(task));
    require(contents.globalrank < 0 || other->second.globalrank < 0 ||
                contents.globalrank == other->second.globalrank,
            way + ": global rank of task " + std::to_string(task));
  }
}

}  // namespace sheaf::fuzz
