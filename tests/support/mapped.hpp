// mapped: runs programs with explicit placements through the mapped writer and reader.
#pragma once

#include "multifile/reader/reader.hpp"
#include "multifile/writer/writer.hpp"
#include "support/programs.hpp"

namespace sheaf::test {

struct MappedProgram {
  Program program;
  std::vector<layout::Placement> places;  // placement of each task
  std::vector<int> owners;                // process that writes each task
  int writers = 1;
  int readers = 1;

  std::string describe() const {
    std::ostringstream out;
    out << writers << " writers, " << readers << " readers, " << program.describe();
    for (size_t t = 0; t < places.size(); ++t)
      out << "\n  task " << t << " at (" << places[t].file << ", " << places[t].local_rank << ") of process "
          << owners[t];
    return out.str();
  }
};

inline MappedProgram random_mapped(uint64_t seed, int64_t ntasks = 0, int32_t nfiles = 0, int writers = 0,
                                   int readers = 0) {
  Random random(seed ^ 0x5eed);
  MappedProgram p;
  p.program = random_program(seed);
  if (ntasks > 0) {
    const Program pattern = p.program;
    p.program.requests.clear();
    p.program.steps.clear();
    for (int64_t t = 0; t < ntasks; ++t) {
      p.program.requests.push_back(random.below(100));
      p.program.steps.push_back({{Step::write, random.below(120)}});
      if (p.program.chunk(t) == 0) p.program.steps.back().clear();
    }
  }
  const int n = p.program.ntasks();
  if (nfiles > 0) p.program.nfiles = nfiles;
  p.writers = writers > 0 ? writers : 1 + static_cast<int>(random.below(5));
  p.readers = readers > 0 ? readers : 1 + static_cast<int>(random.below(5));
  // Assigns the tasks to the files in random order. Each file gets at least one task.
  std::vector<int> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
  std::vector<int32_t> filled(static_cast<size_t>(p.program.nfiles), 0);
  p.places.resize(order.size());
  p.owners.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const auto file = std::cmp_less(i, p.program.nfiles)
                          ? static_cast<int32_t>(i)
                          : static_cast<int32_t>(random.below(p.program.nfiles));
    // A single file has no mapping: readers number its tasks by local rank, so the writer must do so, too.
    const auto task = static_cast<size_t>(p.program.nfiles == 1 ? static_cast<int>(i) : order[i]);
    p.places[task] = {file, filled[static_cast<size_t>(file)]++};
    p.owners[task] = static_cast<int>(random.below(p.writers));
  }
  return p;
}

inline void write_as_process(Store& store, const std::string& path, const MappedProgram& p, Comm& comm,
                             uint64_t seed, const std::string& words = "w") {
  std::vector<multifile::MappedWriteTask> mine;
  for (int t = p.program.ntasks(); t-- > 0;) {
    const auto i = static_cast<size_t>(t);
    if (p.owners[i] == comm.rank()) mine.push_back({t, p.program.requests[i], p.places[i]});
  }
  multifile::Writer writer(store, comm.duplicate(), {path, p.program.nfiles, p.program.fsblksize, mine},
                           shared_mode_of(comm, words, p.program.buffer));
  require(writer.ntasks() == p.program.ntasks(), "number of tasks");
  require(writer.task() == (mine.empty() ? -1 : mine[0].globalrank), "the first task is current");
  Random random(seed + static_cast<uint64_t>(comm.rank()));
  std::vector<Writing> writing;
  std::vector<size_t> next(mine.size());
  std::vector<size_t> unfinished(mine.size());
  std::iota(unfinished.begin(), unfinished.end(), 0);
  for (const multifile::MappedWriteTask& t : mine)
    writing.emplace_back(t.globalrank, p.program.chunk(t.globalrank));
  while (!unfinished.empty()) {
    const auto at = unfinished.begin() + random.below(std::ssize(unfinished));
    const size_t i = *at;
    const auto& steps = p.program.steps[static_cast<size_t>(mine[i].globalrank)];
    if (next[i] == steps.size()) {
      unfinished.erase(at);
      continue;
    }
    writer.select(mine[i].globalrank);
    require(writer.facts().filenumber == mine[i].place.file, "file of the current task");
    writing[i].step(writer.stream(), steps[next[i]++]);
    yield();
  }
  writer.close();
}

inline void write_mapped(Store& inner, const std::string& path, const MappedProgram& p, uint64_t seed = 0,
                         const std::string& words = "w") {
  TaskHandles store(inner);
  run_fibers(fibers(p.writers, seed),
             [&](Comm& comm) { write_as_process(store, path, p, comm, seed, words); });
  require(store.open_files() == 0, "all files closed");
}

inline void check_task(multifile::ReadStream& stream, const MappedProgram& p, int64_t task) {
  require(stream.geometry().size == p.program.chunk(task), "chunk size");
  check_stream(stream, p.program.expected(task), task, 1000);
}

// Reads with automatic distribution, and with random lists that may overlap or be empty.
inline void read_mapped(Store& inner, const std::string& path, const MappedProgram& p, uint64_t seed) {
  TaskHandles store(inner);
  const int64_t n = p.program.ntasks();
  run_fibers(fibers(p.readers, seed), [&](Comm& comm) {
    const int me = comm.rank();
    {
      multifile::Reader reader(store, comm.duplicate(), multifile::MappedReadRequest{path, true, {}},
                               mode_of("r", p.program.buffer));
      const int64_t more = n % comm.size();
      const int64_t first = n / comm.size() * me + std::min<int64_t>(more, me);
      const int64_t share = n / comm.size() + (me < more ? 1 : 0);
      require(reader.ntasks() == n && std::ssize(reader.tasks()) == share, "share of the tasks");
      for (int64_t t = first; t < first + share; ++t) {
        const multifile::OwnTask& found = reader.tasks()[static_cast<size_t>(t - first)];
        const layout::Placement place = p.places[static_cast<size_t>(t)];
        require(
            found.task == t && found.place.file == place.file && found.place.local_rank == place.local_rank,
            "place");
        reader.select(t);
        check_task(reader.stream(), p, t);
      }
      reader.close();
    }
    Random random(seed * 31 + static_cast<uint64_t>(me));
    std::vector<int64_t> list;
    for (int64_t k = random.below(std::min<int64_t>(n, 50) + 1); k > 0; --k) {
      const int64_t t = random.below(n);
      if (std::ranges::find(list, t) == list.end()) list.push_back(t);
    }
    multifile::Reader reader(store, comm.duplicate(), multifile::MappedReadRequest{path, false, list},
                             mode_of("r", p.program.buffer));
    require(reader.task() == (list.empty() ? -1 : list[0]), "the first task is current");
    for (const int64_t t : list) {
      reader.select(t);
      check_task(reader.stream(), p, t);
    }
    reader.close();
  });
  require(store.open_files() == 0, "all files closed");
}

inline void check_mapped(Store& store, const std::string& path, const MappedProgram& p, uint64_t seed) {
  read_mapped(store, path, p, seed);
  check_every_way(store, path, p.program, p.program.buffer);
}

}  // namespace sheaf::test
