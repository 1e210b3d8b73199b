// saving: saves of simulated tasks, each of which is a process with a writer of its own.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/agree.hpp"
#include "format/commit_record.hpp"
#include "multifile/create/commit.hpp"
#include "multifile/journal/ownership.hpp"
#include "multifile/reader/reader.hpp"
#include "multifile/saves/begin_save.hpp"
#include "multifile/writer/writer.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/programs.hpp"

namespace sheaf::test::saving {

using saves::ProcessSaves;
using saves::SaveState;

struct SaveCase {
  int ntasks = 1;
  int per_host = 64;       // tasks
  std::string words = {};  // further words of the mode
  int64_t bytes = 3000;    // of each task
  std::string path = "a";
  bool is_local = true;  // the lease's file system
};
inline std::ostream& operator<<(std::ostream& out, const SaveCase& c) {
  return out << c.ntasks << " tasks, " << c.per_host << " on a host" << c.words;
}

// Returns the bytes that `task` writes in generation `number`.
inline std::vector<std::byte> bytes_of(const SaveCase& c, int number, int task) {
  return content(task + 1000 * number, 0, c.bytes + 7 * task);
}

// One process.
struct SavingProcess {
  std::unique_ptr<ProcessSaves> saves = std::make_unique<ProcessSaves>(BackgroundWriter::ServedBy::callers);
  void run(int requests = 1) {
    while (requests-- > 0) saves->writer().run_one();
  }
};

// Opens, writes and closes generation `number`. Collective. Returns the captured save.
inline std::shared_ptr<saves::TaskSave> save(Comm& comm, Store& store, SavingProcess& process,
                                             const SaveCase& c, int number) {
  const std::shared_ptr<Store> files(std::shared_ptr<Store>(), &store);
  multifile::OpenMode mode = mode_of("w,async" + c.words);
  mode.is_local = c.is_local;
  mode.identity = {};
  saves::EarlierSave earlier;
  std::shared_ptr<multifile::Ownership> ownership;
  agree(comm, attempt([&] {
          if (comm.rank() != 0) return;
          earlier = saves::await_earlier(*process.saves, store, c.path, mode);
          if (earlier.pending) ownership = earlier.pending->ownership();
          if (!ownership && !earlier.skips) ownership = multifile::Ownership::take(files, c.path);
        }));
  uint64_t id = 0;
  if (comm.rank() == 0)
    id = ownership && !earlier.pending ? ownership->id() : static_cast<uint64_t>(number) + 77;
  comm.broadcast(std::as_writable_bytes(std::span(&id, 1)), 0);
  mode.identity[0] = static_cast<std::byte>(number);
  mode.identity[1] = std::byte{1};
  const std::string temporary = multifile::temporary_name(store, c.path, id);
  auto begun = saves::begin_save(comm, *process.saves, files, mode, {c.path, temporary}, earlier);
  auto writer = std::make_unique<multifile::Writer>(
      *begun->store, comm.duplicate(),
      multifile::ParallelWriteRequest{
          .path = temporary, .stored_name = c.path, .local = nullptr, .chunk_size = 1000, .fsblksize = 512},
      mode);
  saves::capture_frames(*writer, *begun);
  writer->own(ownership);
  auto unwritten = attempt([&] { writer->stream().write(bytes_of(c, number, comm.rank())); });
  try {
    agree(comm, unwritten);
  } catch (...) {
    saves::give_up(*begun, writer->facts().nfiles);
    throw;
  }
  return saves::close_captured(*begun, *writer, ownership, [&] { return std::move(writer); });
}

inline FiberOptions hosted(const SaveCase& c) {
  FiberOptions options = fibers(c.ntasks);
  options.ranks_per_node = c.per_host;
  options.stack_bytes = 256 << 10;
  return options;
}

// Lets the process work until the outcome of the save is known.
inline SaveState outcome(SavingProcess& process, saves::TaskSave& save, int most = 100'000) {
  for (; most > 0 && !is_final(save.look()); --most) {
    process.run();
    yield();
  }
  return save.look();
}

// Returns the number of the generation under the name; 0 if there is none. Fails the test if it is a mixture.
inline int generation_at(Store& store, const SaveCase& c, std::vector<int> possible) {
  if (!store.status(c.path).exists) return 0;
  multifile::Reader reader(store, c.path, mode_of("r"));
  std::vector<std::vector<std::byte>> found;
  for (int t = 0; t < reader.ntasks(); ++t) {
    reader.select(t);
    found.emplace_back(static_cast<size_t>(c.bytes + 1000));
    found.back().resize(reader.stream().read(found.back()));
  }
  for (const int number : possible) {
    bool equal = std::ssize(found) == c.ntasks;
    for (int t = 0; equal && t < c.ntasks; ++t)
      equal = found[static_cast<size_t>(t)] == bytes_of(c, number, t);
    if (equal) return number;
  }
  ADD_FAILURE() << "no generation";
  return -1;
}

}  // namespace sheaf::test::saving
