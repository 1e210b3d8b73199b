// Parallel creation: the collective open and close of a multifile, with every task a fiber of one process,
// against one empty file per task in one directory.
//
// Why this is fair: as in bench_create. In addition, the collective calls of all tasks run sequentially on
// one core, like the peer's creations, and our time includes the switches between fibers. There are two rows:
// from the first task that enters the open to the last one that leaves the close, and the same including the
// creation of the fibers.
//
// --files N: physical files of the multifile. --directories: before its time starts, the peer creates a
// directory for every file. --alone: no peer.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench_common.hpp"
#include "multifile/metadata/parallel_open.hpp"
#include "multifile/writer/writer.hpp"
#include "storage/decorators/shared_handles.hpp"
#include "support/fibers/fiber_comm.hpp"

namespace {

using bench::require;
using bench::Times;

double create_files(const std::vector<std::string>& names) {
  const double start = bench::now();
  for (const std::string& name : names) {
    const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    require(fd >= 0 && close(fd) == 0, "cannot create a file");
  }
  return bench::now() - start;
}

// The steps of sion_paropen_* and sion_parclose_*, without MPI.
void open_and_close(sheaf::Comm& comm, sheaf::Store& store, const std::string& path, int files,
                    int64_t chunk) {
  std::unique_ptr<sheaf::Comm> own = comm.duplicate();
  const sheaf::multifile::OpenMode mode = sheaf::multifile::agree_on_call(*own, path, "bw", {}, std::nullopt);
  sheaf::multifile::ParallelWriteRequest request;
  request.path = path;
  request.chunk_size = chunk;
  request.nfiles = files;
  sheaf::multifile::Writer writer(store, std::move(own), std::move(request), mode);
  writer.close();
}

// Touches the stack pages that open and close need, because a real task gets them from the operating system
// before the calls.
[[gnu::noinline]] void touch_stack() {
  volatile char deep[10 << 10];
  for (size_t at = 0; at < sizeof deep; at += 1 << 10) deep[at] = 1;
}

Times create_multifile(const std::string& path, int tasks, int files, int64_t chunk) {
  const double before = bench::now();
  double first = 0;
  double last = 0;
  sheaf::SharedHandles store(sheaf::posix_store());
  sheaf::FiberOptions options;
  options.ranks = tasks;
  options.ranks_per_node = 16;
  sheaf::run_fibers(options, [&](sheaf::Comm& comm) {
    touch_stack();
    comm.barrier();  // all fibers exist
    if (first == 0) first = bench::now();
    open_and_close(comm, store, path, files, chunk);
    last = bench::now();
  });
  return {last - first, bench::now() - before};
}

}  // namespace

int main(int argc, char** argv) {
  bench::BenchOptions options(argc, argv);
  const std::string parent = options.text("--dir", ".");
  const int pairs = static_cast<int>(options.number("--pairs", 5));
  const auto tasks = static_cast<int>(options.number("--tasks", 294'912));
  const int64_t chunk = options.number("--chunk", 1 << 20);
  const int files = static_cast<int>(options.number("--files", 1));
  const bool directories = options.flag("--directories");
  const bool alone = options.flag("--alone");
  options.check();

  const bench::ScratchDirectory scratch(parent, true, getpid());
  std::vector<std::string> names;
  for (int t = 0; t < tasks; ++t)
    names.push_back(scratch.file("task." + std::to_string(t)) + (directories ? "/file" : ""));
  const auto prepare = [&] {
    for (size_t t = 0; directories && !alone && t < names.size(); ++t)
      require(mkdir(scratch.file("task." + std::to_string(t)).c_str(), 0777) == 0,
              "cannot create a directory");
  };
  // tmpfs keeps directories in memory only, so it has no target.
  const std::string fs = bench::file_system_of(scratch.path());
  bench::compare(
      {{"create.parallel/files", false, fs == "tmpfs" ? 0 : 0.1}, {"create.parallel+fibers/files", false, 0}},
      fs, pairs, true, [&] { return create_multifile(scratch.file("multifile"), tasks, files, chunk); },
      [&] {
        prepare();
        return Times(2, alone ? 1 : create_files(names));
      },
      [&] { scratch.empty(); }, 1);
}
