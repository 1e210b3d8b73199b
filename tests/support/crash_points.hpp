// crash_points: runs a program over a recording store. For every prefix of the recorded changes, computes the
// minimum and maximum length of each stream after a crash.
#pragma once

#include <algorithm>
#include <vector>

#include "support/mapped.hpp"
#include "support/stores/recording_store.hpp"

namespace sheaf::test {

// Bounds on the stream length of each task after any number of recorded changes.
class Reported {
 public:
  explicit Reported(int ntasks)
      : guaranteed_(static_cast<size_t>(ntasks)), possible_(static_cast<size_t>(ntasks)) {}

  // Call begin() before a step that may extend the stream to `total` bytes. Call reported() after a step that
  // guarantees `total` bytes.
  void begin(int64_t task, size_t changes, int64_t total) {
    possible_[static_cast<size_t>(task)].push_back({changes, total});
  }
  void reported(int64_t task, size_t changes, int64_t total) {
    guaranteed_[static_cast<size_t>(task)].push_back({changes, total});
  }

  int64_t min_length(int64_t task, size_t prefix) const {
    int64_t bytes = 0;
    for (const Point& p : guaranteed_[static_cast<size_t>(task)])
      if (p.changes <= prefix) bytes = std::max(bytes, p.bytes);
    return bytes;
  }
  int64_t max_length(int64_t task, size_t prefix) const {
    int64_t bytes = 0;
    for (const Point& p : possible_[static_cast<size_t>(task)])
      if (p.changes < prefix) bytes = std::max(bytes, p.bytes);
    return bytes;
  }

  bool was_complete = false;  // a crash may leave the complete file that existed before the program
  size_t opened = 0;          // number of changes when the open returned
  size_t closing = 0;         // number of changes before the close
  size_t closed = 0;          // number of changes after the close

 private:
  struct Point {
    size_t changes;
    int64_t bytes;
  };
  std::vector<std::vector<Point>> guaranteed_, possible_;
};

// Data that survives a death before the close: flushed bytes, chunks that a write completed, or all chunks.
enum class SurvivingData { flushes, writes, all };

// Returns true if the hosts have separate caches. The journal then records a completed chunk only when
// the bytes of the chunk are synced (JournalKey::own_caches).
inline bool syncs_records() { return tasks_of_host() > 0; }

// Performs the steps of one task. Executes a flush by calling `commit`.
class RecordedTask {
 public:
  RecordedTask(int64_t task, int64_t chunk, RecordingStore& tape, Reported& reported, SurvivingData surviving)
      : task_(task), model_{chunk, {0}}, tape_(tape), reported_(reported), surviving_(surviving) {}

  template <class Commit>
  void step(multifile::WriteStream& stream, const Step& s, Commit&& commit) {
    step(stream, s, commit, [&](const std::vector<std::byte>& bytes) { stream.write(bytes); });
  }
  template <class Commit, class Put>
  void step(multifile::WriteStream& stream, const Step& s, Commit&& commit, Put&& put) {
    const size_t blocks = model_.blocks.size();
    const int64_t before = model_.total();
    if (!model_.accepts(s)) return;
    TaskModel next = model_;
    next.apply(s);
    reported_.begin(task_, tape_.length(), next.total());
    if (s.kind == Step::write) put(content(task_, before, s.bytes));
    if (s.kind == Step::ensure) stream.ensure_free_space(s.bytes);
    if (s.kind == Step::flush) commit();
    model_ = next;
    const int64_t complete = model_.total() - model_.blocks.back();
    if (s.kind == Step::flush) {
      reported_.reported(task_, tape_.length(), model_.total());
    } else if ((surviving_ == SurvivingData::all ||
                (surviving_ == SurvivingData::writes && s.kind == Step::write)) &&
               model_.blocks.size() > blocks) {
      reported_.reported(task_, tape_.length(), complete);
    }
  }

  bool accepts(const Step& s) const { return model_.accepts(s); }
  // Sets the blocks that another program has written. Later steps follow them.
  void go_on_behind(const TaskModel& model) { model_ = model; }

 private:
  int64_t task_;
  TaskModel model_;
  RecordingStore& tape_;
  Reported& reported_;
  SurvivingData surviving_;
};

// Throws unless the contents of `store` are among those that `reported` allows after `prefix` changes.
// Returns the length of each stream.
inline std::vector<int64_t> check_recovered(Store& store, const Program& p, const Reported& reported,
                                            size_t prefix) {
  std::vector<int64_t> lengths;
  multifile::Reader all(store, "a", mode_of("r"));
  require(all.ntasks() == p.ntasks(), "number of tasks");
  for (int64_t t = 0; t < p.ntasks(); ++t) {
    all.select(t);
    std::vector<std::byte> found(static_cast<size_t>(reported.max_length(t, prefix)) + 100);
    found.resize(all.stream().read(found));
    const auto length = static_cast<int64_t>(found.size());
    require(length >= reported.min_length(t, prefix),
            "task " + std::to_string(t) + " has lost bytes: " + std::to_string(length) + " of " +
                std::to_string(reported.min_length(t, prefix)));
    require(length <= reported.max_length(t, prefix),
            "task " + std::to_string(t) + " has bytes that it had not written");
    require(found == content(t, 0, length), "task " + std::to_string(t) + " has wrong bytes");
    lengths.push_back(length);
  }
  if (prefix >= reported.closed) require(!all.facts().unclosed, "the file was closed");
  if (prefix <= reported.closing && !reported.was_complete)
    require(all.facts().unclosed, "the file was not closed, and nobody says so");
  return lengths;
}

// Returns a program with requests so large that each collective call is a round. Its bytes are then in the
// file when the call returns.
inline Program large_crash_program(uint64_t seed, int nfiles) {
  Random random(seed);
  Program p;
  p.fsblksize = 512;
  const int ntasks = 2 + static_cast<int>(random.below(3));
  p.nfiles = std::min(nfiles, ntasks);
  for (int t = 0; t < ntasks; ++t) {
    p.requests.push_back(random.pick<int64_t>({150'000, 200'000, 400'000}));
    std::vector<Step> steps;
    for (int64_t count = 1 + random.below(5); count > 0; --count) {
      const auto kind = random.pick({Step::write, Step::write, Step::write, Step::ensure, Step::flush});
      steps.push_back({kind, kind == Step::flush    ? 0
                             : kind == Step::ensure ? 100'000
                                                    : random.pick<int64_t>({135'000, 140'000, 430'000})});
    }
    p.steps.push_back(steps);
  }
  return p;
}

// Returns a program that flushes occasionally and writes across several chunks.
inline Program crash_program(uint64_t seed, int nfiles) {
  Random random(seed);
  Program p;
  p.fsblksize = 512;
  p.buffer = random.pick<int64_t>({0, 13, 300, 5000});
  const int ntasks = 1 + static_cast<int>(random.below(4));
  p.nfiles = std::min(nfiles, ntasks);
  for (int t = 0; t < ntasks; ++t) {
    p.requests.push_back(random.pick<int64_t>({0, 100, 512, 1500}));
    std::vector<Step> steps;
    for (int64_t count = random.below(12); count > 0; --count) {
      const auto kind =
          random.pick({Step::write, Step::write, Step::write, Step::ensure, Step::flush, Step::flush});
      steps.push_back({kind, kind == Step::flush ? 0 : random.below(kind == Step::ensure ? 500 : 900)});
    }
    p.steps.push_back(steps);
  }
  return p;
}

inline void record_serially(RecordingStore& tape, const Program& p, Reported& reported,
                            const std::string& words, uint64_t seed) {
  std::vector<int64_t> ranks(p.requests.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  multifile::Writer writer(tape, {"a", p.requests, ranks, p.fsblksize}, mode_of(words, p.buffer));
  reported.opened = tape.length();
  const bool durable = words.find("durable") != std::string::npos;
  std::vector<RecordedTask> tasks;
  for (int64_t t = 0; t < p.ntasks(); ++t)
    tasks.emplace_back(t, p.chunk(t), tape, reported, durable ? SurvivingData::flushes : SurvivingData::all);
  step_in_any_order(p, seed, [&](int64_t task, const Step& step) {
    writer.select(task);
    tasks[static_cast<size_t>(task)].step(writer.stream(), step, [&] { writer.commit(); });
  });
  reported.closing = tape.length();
  writer.close();
  reported.closed = tape.length();
}

inline void record_in_parallel(RecordingStore& tape, const Program& p, Reported& reported,
                               const std::string& words, uint64_t seed) {
  TaskHandles store(tape);
  const bool durable = words.find("durable") != std::string::npos;
  run_fibers(fibers(p.ntasks(), seed), [&](Comm& comm) {
    const int me = comm.rank();
    multifile::Writer writer(store, comm.duplicate(), request_of("a", p, comm),
                             shared_mode_of(comm, words, p.buffer));
    comm.barrier();
    reported.opened = std::max(reported.opened, tape.length());
    RecordedTask task(me, p.chunk(me), tape, reported,
                      durable || syncs_records() ? SurvivingData::flushes : SurvivingData::all);
    comm.barrier();
    for (const Step& step : p.steps[static_cast<size_t>(me)]) {
      task.step(writer.stream(), step, [&] { writer.commit(); });
      yield();
    }
    comm.barrier();
    reported.closing = tape.length();
    comm.barrier();
    writer.close();
  });
  reported.closed = tape.length();
}

// Runs the program in collective calls. All tasks make the same number of calls. Unless every call is a
// round, only flushed bytes count, because tasks may not have sent the remaining bytes to their collector.
inline void record_collectively(RecordingStore& tape, const Program& p, Reported& reported,
                                const std::string& words, uint64_t seed) {
  TaskHandles store(tape);
  const bool rounds = std::ranges::min(p.requests) > 128 << 10;
  size_t calls = 0;
  for (const auto& steps : p.steps) calls = std::max(calls, steps.size());
  run_fibers(fibers(p.ntasks(), seed), [&](Comm& comm) {
    const int me = comm.rank();
    multifile::Writer writer(store, comm.duplicate(), request_of("a", p, comm),
                             shared_mode_of(comm, words + ",collective,collsize=2", p.buffer));
    comm.barrier();
    reported.opened = std::max(reported.opened, tape.length());
    RecordedTask task(me, writer.stream().geometry().size, tape, reported,
                      rounds && !syncs_records() && words.find("durable") == words.npos
                          ? SurvivingData::writes
                          : SurvivingData::flushes);
    comm.barrier();
    const auto put = [&](const std::vector<std::byte>& bytes) {
      writer.write_collectively(bytes, std::nullopt);
    };
    const auto& steps = p.steps[static_cast<size_t>(me)];
    for (size_t i = 0; i < calls; ++i) {
      const Step s = i < steps.size() ? steps[i] : Step{Step::write, 0};
      if (s.kind != Step::write || !task.accepts(s)) put({});
      task.step(
          writer.stream(), s, [&] { writer.commit(); }, put);
      yield();
    }
    comm.barrier();
    reported.closing = tape.length();
    comm.barrier();
    writer.close();
  });
  reported.closed = tape.length();
}

// Runs the steps of the tasks `mine` of this process, and closes. The tasks take turns after each step.
inline void step_and_close(Comm& comm, multifile::Writer& writer, const Program& p,
                           const std::vector<int64_t>& mine, std::vector<RecordedTask>& tasks,
                           const RecordingStore& tape, Reported& reported) {
  size_t steps = 0;
  for (const int64_t t : mine) steps = std::max(steps, p.steps[static_cast<size_t>(t)].size());
  for (size_t i = 0; i < steps; ++i)
    for (size_t k = 0; k < mine.size(); ++k) {
      const auto& own = p.steps[static_cast<size_t>(mine[k])];
      if (i >= own.size()) continue;
      writer.select(mine[k]);
      tasks[k].step(writer.stream(), own[i], [&] { writer.commit(); });
      yield();
    }
  comm.barrier();
  reported.closing = tape.length();
  comm.barrier();
  writer.close();
}

// Runs the program with two processes. Each process writes every second task.
inline void record_mapped(RecordingStore& tape, const Program& p, Reported& reported,
                          const std::string& words, uint64_t seed) {
  TaskHandles store(tape);
  const bool durable = words.find("durable") != std::string::npos;
  run_fibers(fibers(2, seed), [&](Comm& comm) {
    std::vector<multifile::MappedWriteTask> mine;
    for (int t = comm.rank(); t < p.ntasks(); t += 2)
      mine.push_back(
          {t, p.requests[static_cast<size_t>(t)], layout::place_blockwise(t, p.ntasks(), p.nfiles)});
    multifile::Writer writer(store, comm.duplicate(), {"a", p.nfiles, p.fsblksize, mine},
                             shared_mode_of(comm, words, p.buffer));
    comm.barrier();
    reported.opened = std::max(reported.opened, tape.length());
    std::vector<RecordedTask> tasks;
    std::vector<int64_t> ranks;
    for (const multifile::MappedWriteTask& t : mine) {
      tasks.emplace_back(t.globalrank, p.chunk(t.globalrank), tape, reported,
                         durable || syncs_records() ? SurvivingData::flushes : SurvivingData::all);
      ranks.push_back(t.globalrank);
    }
    comm.barrier();
    step_and_close(comm, writer, p, ranks, tasks, tape, reported);
  });
  reported.closed = tape.length();
}

// Writes and closes a file with the first half of the steps. Then appends the second half.
inline void record_appending(RecordingStore& tape, const Program& p, Reported& reported,
                             const std::string& words, uint64_t seed) {
  Program first = p, second = p;
  for (size_t t = 0; t < p.steps.size(); ++t) {
    const auto half = p.steps[t].begin() + std::ssize(p.steps[t]) / 2;
    first.steps[t].assign(p.steps[t].begin(), half);
    second.steps[t].assign(half, p.steps[t].end());
    reported.begin(static_cast<int64_t>(t), 0, first.expected(static_cast<int64_t>(t)).total());
  }
  write_in_parallel(tape, "a", first, seed, words);
  for (int64_t t = 0; t < p.ntasks(); ++t) reported.reported(t, tape.length(), first.expected(t).total());
  reported.was_complete = true;
  reported.opened = tape.length();
  TaskHandles store(tape);
  const bool durable = words.find("durable") != std::string::npos;
  run_fibers(fibers(2, seed), [&](Comm& comm) {
    std::vector<int64_t> mine;
    for (int t = comm.rank(); t < p.ntasks(); t += 2) mine.push_back(t);
    multifile::Writer writer(store, comm.duplicate(), multifile::MappedAppendRequest{{"a", false, mine}, 0},
                             mode_of("append" + words.substr(1), p.buffer));
    std::vector<RecordedTask> tasks;
    for (const int64_t t : mine) {
      tasks.emplace_back(t, p.chunk(t), tape, reported,
                         durable || syncs_records() ? SurvivingData::flushes : SurvivingData::all);
      tasks.back().go_on_behind(first.expected(t));
    }
    step_and_close(comm, writer, second, mine, tasks, tape, reported);
  });
  reported.closed = tape.length();
}

// Reports the length of a stream. Unless `flushed`, only the bytes in its completed chunks count.
inline void report_progress(Reported& reported, int64_t task, const RecordingStore& tape,
                            multifile::WriteStream& stream, bool flushed) {
  reported.reported(task, tape.length(), stream.bytes_written() - (flushed ? 0 : stream.position().offset));
}

// Runs the program in merge mode: a collective call appends the data of all tasks to the stream of task 0.
inline void record_merging(RecordingStore& tape, const Program& p, Reported& reported,
                           const std::string& words, uint64_t seed) {
  TaskHandles store(tape);
  const bool durable = words.find("durable") != std::string::npos;
  size_t calls = 0;
  for (const auto& steps : p.steps) calls = std::max(calls, steps.size());
  run_fibers(fibers(p.ntasks(), seed), [&](Comm& comm) {
    const int me = comm.rank();
    multifile::Writer writer(
        store, comm.duplicate(), request_of("a", p, comm),
        shared_mode_of(comm, words + ",collective,cmerge,collsize=" + std::to_string(p.ntasks()), p.buffer));
    comm.barrier();
    reported.opened = std::max(reported.opened, tape.length());
    comm.barrier();
    int64_t done = 0;
    for (size_t i = 0; i < calls; ++i) {
      const auto step_of = [&](int task) {
        const auto& steps = p.steps[static_cast<size_t>(task)];
        return i < steps.size() ? steps[i] : Step{Step::write, 0};
      };
      int64_t before = done;
      for (int t = 0; t < p.ntasks(); ++t) {
        if (t == me) before = done;
        if (step_of(t).kind == Step::write && p.chunk(0) > 0) done += step_of(t).bytes;
      }
      const int64_t mine = step_of(me).kind == Step::write && p.chunk(0) > 0 ? step_of(me).bytes : 0;
      if (me == 0) reported.begin(0, tape.length(), done);
      comm.barrier();
      writer.write_collectively(content(0, before, mine), std::nullopt);
      const bool flushes = step_of(me).kind == Step::flush;
      if (flushes) writer.commit();
      if (me == 0 && (flushes || !(durable || syncs_records())))
        report_progress(reported, 0, tape, writer.stream(), flushes);
    }
    comm.barrier();
    reported.closing = tape.length();
    comm.barrier();
    writer.close();
  });
  reported.closed = tape.length();
}

// Writes the heads and values of key-value records. Records fill each chunk before the next one begins.
inline void record_records(RecordingStore& tape, const Program& p, Reported& reported,
                           const std::string& words, uint64_t) {
  std::vector<int64_t> ranks(p.requests.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  multifile::Writer writer(tape, {"a", p.requests, ranks, p.fsblksize},
                           mode_of(words + ",keyval=inline", p.buffer));
  reported.opened = tape.length();
  const bool durable = words.find("durable") != std::string::npos;
  for (size_t i = 0; i < 12; ++i)
    for (const int64_t t : ranks) {
      const auto& steps = p.steps[static_cast<size_t>(t)];
      if (i >= steps.size() || p.chunk(t) == 0) continue;
      writer.select(t);
      multifile::WriteStream& stream = writer.stream();
      const int64_t before = stream.bytes_written();
      const bool flushes = steps[i].kind == Step::flush;
      const auto record = content(t, before, flushes ? 0 : 16 + steps[i].bytes);
      reported.begin(t, tape.length(), before + std::ssize(record));
      if (flushes) {
        writer.commit();
      } else {
        stream.write_filling(std::span(record).first(16), std::span(record).subspan(16));
      }
      if (flushes || !(durable || syncs_records())) report_progress(reported, t, tape, stream, flushes);
    }
  reported.closing = tape.length();
  writer.close();
  reported.closed = tape.length();
}

}  // namespace sheaf::test
