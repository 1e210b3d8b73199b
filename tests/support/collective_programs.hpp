// collective_programs: runs the programs of collective_model.hpp on fibers and compares the bytes read with
// the model.
#pragma once

#include "support/collective_model.hpp"
#include "support/programs.hpp"

namespace sheaf::test {

// Runs a body on `ntasks` tasks. Each task has its own Comm.
using Players = std::function<void(int ntasks, const std::function<void(Comm&)>& body)>;

inline Players on_fibers(uint64_t seed = 0) {
  return
      [seed](int ntasks, const std::function<void(Comm&)>& body) { run_fibers(fibers(ntasks, seed), body); };
}

// Calls between() between any two calls.
inline void write_calls(multifile::Writer& writer, const CollectiveProgram& p,
                        const std::function<void()>& between = yield) {
  const auto me = static_cast<size_t>(writer.task());
  int64_t done = 0;
  const auto next = [&](int64_t bytes) {
    done += bytes;
    return content(writer.task(), done - bytes, bytes);
  };
  for (const auto& call : p.calls) {
    if (call.alone[me] > 0) writer.stream().write(next(call.alone[me]));
    between();
    writer.collective()->write(next(call.together[me]), std::nullopt);
    between();
  }
}

inline multifile::ParallelWriteRequest request_of(std::string_view path, const CollectiveProgram& p, int me) {
  multifile::ParallelWriteRequest request;
  request.path = path;
  request.nfiles = p.nfiles;
  request.fsblksize = p.fsblksize;
  request.chunk_size = p.requests[static_cast<size_t>(me)];
  return request;
}

inline void write_program(Store& store, const std::string& path, const CollectiveProgram& p,
                          const Players& players, const std::function<void()>& between = yield) {
  TaskHandles shared(store);
  players(p.ntasks(), [&](Comm& comm) {
    multifile::Writer writer(shared, comm.duplicate(), request_of(path, p, comm.rank()),
                             shared_mode_of(comm, "w," + p.words()));
    require(writer.collective() != nullptr, "collective");
    write_calls(writer, p, between);
    writer.close();
  });
}
inline void write_program(Store& store, const std::string& path, const CollectiveProgram& p, uint64_t seed) {
  write_program(store, path, p, on_fibers(seed));
}

inline void check_program(Store& store, const std::string& path, const CollectiveProgram& p) {
  multifile::Reader all(store, path, mode_of("r"));
  require(all.ntasks() == p.ntasks(), "number of tasks");
  for (int t = 0; t < p.ntasks(); ++t) {
    all.select(t);
    const auto [model, bytes] = p.expected(t);
    const std::string task = "task " + std::to_string(t) + ": ";
    if (tasks_of_host() == 0) {  // with hosts, groups end at host boundaries, which the model ignores
      require(all.multifile().row(t).geometry.size == model.chunk, task + "chunk size");
      require(all.stream().sizes().count == std::ssize(model.blocks), task + "number of blocks");
      for (int64_t k = 0; k < all.stream().sizes().count; ++k)
        require(all.stream().sizes()[k] == model.blocks[static_cast<size_t>(k)],
                task + "size of block " + std::to_string(k));
    }
    std::vector<std::byte> found(bytes.size() + 1);
    require(all.stream().read(found) == bytes.size(), task + "length");
    found.pop_back();
    require(found == bytes, task + "bytes");
  }
}

// Every task reads its stream in collective calls of random sizes. Some tasks read independently between two
// calls.
inline void read_program(Store& store, const std::string& path, const CollectiveProgram& p, uint64_t seed,
                         const Players& players, const std::function<void()>& between = yield) {
  TaskHandles shared(store);
  const std::string word =
      p.collsize > 0 ? "r,collective=" + std::to_string(p.collsize) : "r,collective=auto";
  std::vector<std::vector<std::byte>> expected;
  size_t longest = 0;
  for (int t = 0; t < p.ntasks(); ++t) {
    expected.push_back(p.expected(t).second);
    longest = std::max(longest, expected.back().size());
  }
  players(p.ntasks(), [&](Comm& comm) {
    const auto me = static_cast<size_t>(comm.rank());
    multifile::Reader reader(shared, comm.duplicate(), path, mode_of(word));
    require(reader.collective() != nullptr, "collective");
    Random random(seed * 1000 + me);
    const auto piece = static_cast<int64_t>(longest / 5 + 1);
    std::vector<std::byte> found;
    const auto take = [&](int64_t want, bool together) {
      std::vector<std::byte> out(static_cast<size_t>(reader.stream().available(want)));
      together ? reader.collective()->read(out, std::nullopt) : static_cast<void>(reader.stream().read(out));
      found.insert(found.end(), out.begin(), out.end());
    };
    for (int call = 0; call < 12; ++call) {
      if (random.chance(4)) take(random.below(piece), false);
      take(random.chance(5) ? 0 : random.below(2 * piece), true);
      between();
    }
    take(static_cast<int64_t>(longest), true);
    require(found == expected[me], "task " + std::to_string(me) + ": bytes read collectively");
    require(reader.stream().at_end(), "end");
    reader.close();
  });
}

inline void read_program(Store& store, const std::string& path, const CollectiveProgram& p, uint64_t seed) {
  read_program(store, path, p, seed, on_fibers(seed));
}

inline CollectiveProgram simple(int ntasks, int64_t request, int calls, int64_t bytes, int64_t collsize = 0) {
  CollectiveProgram p;
  p.collsize = collsize;
  p.requests.assign(static_cast<size_t>(ntasks), request);
  for (int c = 0; c < calls; ++c)
    p.calls.push_back({std::vector<int64_t>(static_cast<size_t>(ntasks)),
                       std::vector<int64_t>(static_cast<size_t>(ntasks), bytes)});
  return p;
}

}  // namespace sheaf::test
