// Creation: one multifile with very many tasks against one empty file per task in one directory.
//
// Why this is fair: both sides create the space for the output of every task. The peer does the minimum: an
// open with O_CREAT and a close per file, in one process and a new directory. Neither time includes removal.
// The arrays that describe the tasks to sion_open are prepared before the clock starts, as are the peer's
// file names.
#include <fcntl.h>
#include <unistd.h>

#include "bench_common.hpp"
#include "sion.h"

namespace {

using bench::require;
using bench::Times;

Times create_files(const std::vector<std::string>& names) {
  const double start = bench::now();
  for (const std::string& name : names) {
    const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    require(fd >= 0 && close(fd) == 0, "cannot create a file");
  }
  return {bench::now() - start};
}

Times create_multifile(std::string path, std::vector<sion_int64>& chunk_sizes, std::vector<int>& ranks) {
  const double start = bench::now();
  int ntasks = static_cast<int>(ranks.size());
  int nfiles = 1;
  sion_int32 fsblksize = -1;
  sion_int64* chunks = chunk_sizes.data();
  int* rank = ranks.data();
  const int sid = sion_open(path.data(), "wb", &ntasks, &nfiles, &chunks, &fsblksize, &rank, nullptr);
  require(sid >= 0 && sion_close(sid) == 1, "cannot create the multifile");
  return {bench::now() - start};
}

}  // namespace

int main(int argc, char** argv) {
  bench::BenchOptions options(argc, argv);
  const std::string parent = options.text("--dir", ".");
  const int pairs = static_cast<int>(options.number("--pairs", 5));
  const auto tasks = static_cast<size_t>(options.number("--tasks", 294'912));
  const int64_t chunk = options.number("--chunk", 1 << 20);
  options.check();

  const bench::ScratchDirectory scratch(parent, true, getpid());
  std::vector<std::string> names;
  for (size_t t = 0; t < tasks; ++t) names.push_back(scratch.file("task." + std::to_string(t)));
  std::vector<sion_int64> chunk_sizes(tasks, chunk);
  std::vector<int> ranks(tasks);
  for (size_t t = 0; t < tasks; ++t) ranks[t] = static_cast<int>(t);
  // tmpfs keeps directories in memory only, so it has no target.
  const std::string fs = bench::file_system_of(scratch.path());
  bench::compare(
      {{"create.serial/files", false, fs == "tmpfs" ? 0 : 1.0 / 150}}, fs, pairs, true,
      [&] { return create_multifile(scratch.file("multifile"), chunk_sizes, ranks); },
      [&] { return create_files(names); }, [&] { scratch.empty(); }, 1);
}
