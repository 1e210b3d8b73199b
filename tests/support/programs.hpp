// programs: runs the programs of multifile_model.hpp through the writers and compares the data that the
// readers find.
#pragma once

#include <gtest/gtest.h>

#include "multifile/reader/reader.hpp"
#include "multifile/writer/writer.hpp"
#include "storage/decorators/shared_handles.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/multifile_model.hpp"
#include "support/stores/memory_store.hpp"
#include "support/task_handles.hpp"

namespace sheaf::test {

// Returns the code of the Error that `call` throws, or Code::ok if it returns.
template <class Call>
Code code_of(Call&& call) {
  const auto error = attempt(call);
  return error ? error->code() : Code::ok;
}

inline multifile::OpenMode mode_of(const std::string& words, int64_t buffer = 128 << 10) {
  multifile::OpenMode mode = multifile::parse_open_mode(words);
  mode.buffer_bytes = buffer;
  return mode;
}

inline FiberOptions fibers(int ranks, uint64_t seed = 0) {
  FiberOptions options;
  options.ranks = ranks;
  options.stack_bytes = 128 << 10;
  options.seed = seed;
  options.ranks_per_node = std::max(1, tasks_of_host());
  return options;
}

// Performs one task's steps. If the model rejects a step, the stream must reject it without any change.
class Writing {
 public:
  Writing(int64_t task, int64_t chunk) : task_(task), model_{chunk, {0}} {}

  void step(multifile::WriteStream& stream, const Step& s) {
    const Code expected = model_.accepts(s) ? Code::ok : Code::out_of_range;
    const int64_t done = model_.total();
    const Code found = code_of([&] {
      if (s.kind == Step::write) stream.write(content(task_, done, s.bytes));
      if (s.kind == Step::ensure) stream.ensure_free_space(s.bytes);
      if (s.kind == Step::flush) stream.flush();
    });
    if (found != expected) throw std::logic_error("a step was wrongly accepted or refused");
    model_.apply(s);
    const multifile::StreamPosition expected_at{std::ssize(model_.blocks) - 1, model_.blocks.back()};
    if (stream.bytes_written() != model_.total() || stream.position() != expected_at)
      throw std::logic_error("the position is wrong after a step");
  }

 private:
  int64_t task_;
  TaskModel model_;
};

// A small program with a step of each kind and a task that writes no data.
inline Program small_program(int nfiles) {
  Program p;
  p.nfiles = nfiles;
  p.fsblksize = 64;
  p.buffer = 100;
  p.requests = {100, 0, 64, 200};
  p.steps = {{{Step::write, 50}, {Step::write, 120}, {Step::flush, 0}, {Step::write, 300}},
             {},
             {{Step::write, 64}, {Step::ensure, 10}, {Step::write, 7}},
             {{Step::write, 90}, {Step::write, 90}, {Step::write, 90}, {Step::flush, 0}}};
  return p;
}

// Calls step(task, step) for all steps. Each next step is that of a random task.
template <class DoStep>
void step_in_any_order(const Program& p, uint64_t seed, DoStep step) {
  Random random(seed);
  std::vector<size_t> next(p.steps.size(), 0);
  std::vector<int64_t> unfinished(p.steps.size());
  std::iota(unfinished.begin(), unfinished.end(), 0);
  while (!unfinished.empty()) {
    const auto at = unfinished.begin() + random.below(std::ssize(unfinished));
    const auto t = static_cast<size_t>(*at);
    if (next[t] == p.steps[t].size()) {
      unfinished.erase(at);
    } else {
      step(*at, p.steps[t][next[t]++]);
    }
  }
}

inline void write_serially(Store& store, const std::string& path, const Program& p, uint64_t seed = 1,
                           const std::string& words = "w") {
  const auto n = static_cast<size_t>(p.ntasks());
  std::vector<int64_t> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 0);
  multifile::Writer writer(store, {path, p.requests, ranks, p.fsblksize}, mode_of(words, p.buffer));
  std::vector<Writing> tasks;
  for (size_t t = 0; t < n; ++t) tasks.emplace_back(t, p.chunk(static_cast<int64_t>(t)));
  step_in_any_order(p, seed, [&](int64_t task, const Step& step) {
    writer.select(task);
    tasks[static_cast<size_t>(task)].step(writer.stream(), step);
  });
  writer.close();
}

// Returns the group of a rank for nfiles <= 0: consecutive tasks, in reversed order within each group
// (request_of()).
inline int group_of(int rank, int ntasks) { return rank / std::max(1, ntasks / 2); }

inline multifile::ParallelWriteRequest request_of(std::string_view path, const Program& p, Comm& comm) {
  multifile::ParallelWriteRequest request;
  request.path = path;
  request.nfiles = p.nfiles;
  request.fsblksize = p.fsblksize;
  request.chunk_size = p.requests[static_cast<size_t>(comm.rank())];
  request.keeps_chunks = tasks_of_host() > 0;  // the model has no hosts
  if (p.nfiles <= 0) request.local = comm.split(group_of(comm.rank(), comm.size()), -comm.rank());
  return request;
}

// Returns the first MiB of a task's stream.
inline std::vector<std::byte> stream_of(Store& store, const std::string& path, int64_t task) {
  multifile::Reader reader(store, path, mode_of("r"));
  reader.select(task);
  std::vector<std::byte> bytes(1 << 20);
  bytes.resize(reader.stream().read(bytes));
  return bytes;
}

// Returns the open mode with an identity shared by all tasks, as the open calls create it. Collective.
inline multifile::OpenMode shared_mode_of(Comm& comm, const std::string& words, int64_t buffer = 128 << 10) {
  multifile::OpenMode mode = mode_of(words, buffer);
  mode.identity = multifile::new_identity();
  comm.broadcast(mode.identity, 0);
  return mode;
}

// Writes the part of one task. Collective.
inline void write_as_task(Store& store, const std::string& path, const Program& p, Comm& comm,
                          const std::string& words = "w") {
  const int me = comm.rank();
  multifile::Writer writer(store, comm.duplicate(), request_of(path, p, comm),
                           shared_mode_of(comm, words, p.buffer));
  Writing task(me, p.chunk(me));
  for (const Step& step : p.steps[static_cast<size_t>(me)]) {
    task.step(writer.stream(), step);
    yield();
  }
  writer.close();
}

inline void write_in_parallel(Store& inner, const std::string& path, const Program& p, uint64_t seed = 0,
                              const std::string& words = "w") {
  TaskHandles store(inner);
  run_fibers(fibers(p.ntasks(), seed), [&](Comm& comm) { write_as_task(store, path, p, comm, words); });
}

// Checks the contents of a stream and its division into blocks. Throws std::logic_error, because EXPECT does
// not work in fibers.
inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error(what);
}

inline void check_stream(multifile::ReadStream& stream, const TaskModel& model, int64_t task,
                         int64_t piece = 1 << 20) {
  require(stream.sizes().count == std::ssize(model.blocks),
          "task " + std::to_string(task) + ": number of blocks");
  for (int64_t b = 0; b < stream.sizes().count; ++b)
    require(stream.sizes()[b] == model.blocks[static_cast<size_t>(b)],
            "task " + std::to_string(task) + ": size of block " + std::to_string(b));
  std::vector<std::byte> found(static_cast<size_t>(piece));
  int64_t at = 0;
  while (const auto n = static_cast<int64_t>(stream.read(found))) {
    require(std::equal(found.begin(), found.begin() + n, content(task, at, n).begin()),
            "task " + std::to_string(task) + ": bytes at " + std::to_string(at));
    at += n;
  }
  require(at == model.total(), "task " + std::to_string(task) + ": length");
  require(stream.at_end(), "task " + std::to_string(task) + ": end");
}

// Returns the bytes of a physical file with the extension header, and the identity and hash in the footer,
// replaced by zeros. These differ from file to file.
inline std::vector<std::byte> without_extension(std::vector<std::byte> file) {
  constexpr auto from = static_cast<size_t>(format::extension_offset);
  for (size_t i = from; i < file.size() && i < from + format::extension_size; ++i) file[i] = std::byte{};
  if (file.size() < static_cast<size_t>(format::footer_size)) return file;
  const auto footer = std::span(file).last<format::footer_size>();
  if (format::decode_footer(footer, std::ssize(file), "a file")) {
    std::ranges::fill(footer.subspan(24, 16), std::byte{});
    std::ranges::fill(footer.subspan(48, 8), std::byte{});
  }
  return file;
}

// Checks a file that was not closed. Every stream must be a prefix of the data that `p` writes.
inline void check_beginnings(Store& store, const std::string& path, const Program& p) {
  multifile::Reader all(store, path, mode_of("r"));
  require(all.facts().unclosed, "the file was not closed, and nobody says so");
  for (int64_t t = 0; t < p.ntasks(); ++t) {
    all.select(t);
    std::vector<std::byte> found(static_cast<size_t>(p.expected(t).total()) + 1);
    found.resize(all.stream().read(found));
    require(std::ssize(found) <= p.expected(t).total() && found == content(t, 0, std::ssize(found)),
            "a beginning of the stream");
  }
}

inline void check_serially(Store& store, const std::string& path, const Program& p,
                           int64_t buffer = 128 << 10) {
  multifile::Reader all(store, path, mode_of("r", buffer));
  require(all.ntasks() == p.ntasks(), "number of tasks");
  for (int64_t t = 0; t < p.ntasks(); ++t) {
    all.select(t);
    require(all.multifile().row(t).globalrank == t, "global rank");
    require(all.multifile().row(t).geometry.size == p.chunk(t), "chunk size");
    check_stream(all.stream(), p.expected(t), t, 1 + 977 * t);
  }
}

inline void check_by_task(Store& store, const std::string& path, const Program& p,
                          int64_t buffer = 128 << 10) {
  for (int64_t t = 0; t < p.ntasks(); ++t) {
    multifile::Reader one(store, path, t, mode_of("r", buffer));
    require(one.ntasks() == p.ntasks() && one.globalrank() == t, "one task");
    check_stream(one.stream(), p.expected(t), t, 4096);
  }
}

inline void check_in_parallel(Store& inner, const std::string& path, const Program& p,
                              int64_t buffer = 128 << 10, uint64_t seed = 0) {
  TaskHandles store(inner);
  run_fibers(fibers(p.ntasks(), seed), [&](Comm& comm) {
    const int me = comm.rank();
    multifile::Reader reader(store, comm.duplicate(), path, mode_of("r", buffer));
    require(reader.stream().geometry().size == p.chunk(me), "chunk size");
    check_stream(reader.stream(), p.expected(me), me, 1000);
    reader.close();
  });
}

inline void check_every_way(Store& store, const std::string& path, const Program& p,
                            int64_t buffer = 128 << 10) {
  check_serially(store, path, p, buffer);
  check_by_task(store, path, p, buffer);
  check_in_parallel(store, path, p, buffer);
}

}  // namespace sheaf::test
