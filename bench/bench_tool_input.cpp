// Writes the input multifiles of bench_tools.py: --tasks streams of --bytes each in chunks of --chunk bytes.
// The streams are filled block by block, as by a parallel program, so that every task's stream is scattered
// over the file. Syncs the files to disk, so that no measurement pays for it later.
#include <fcntl.h>
#include <unistd.h>

#include "bench_common.hpp"
#include "sion.h"

int main(int argc, char** argv) {
  bench::BenchOptions options(argc, argv);
  std::string path = options.text("--out", "multifile");
  int tasks = static_cast<int>(options.number("--tasks", 8));
  const int64_t bytes = options.number("--bytes", 64 << 20);
  const int64_t chunk = options.number("--chunk", 8 << 20);
  options.check();

  std::vector<sion_int64> chunk_sizes(static_cast<size_t>(tasks), chunk);
  std::vector<int> ranks(static_cast<size_t>(tasks));
  for (size_t t = 0; t < ranks.size(); ++t) ranks[t] = static_cast<int>(t);
  std::vector<char> data(static_cast<size_t>(std::min(chunk, bytes)));
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>('a' + i * 7 % 26);

  int nfiles = 1;
  sion_int32 fsblksize = -1;
  sion_int64* chunks = chunk_sizes.data();
  int* rank = ranks.data();
  const int sid = sion_open(path.data(), "wb", &tasks, &nfiles, &chunks, &fsblksize, &rank, nullptr);
  bench::require(sid >= 0, "sion_open failed");
  for (int64_t done = 0; done < bytes; done += chunk) {
    const auto piece = static_cast<size_t>(std::min(chunk, bytes - done));
    for (int t = 0; t < tasks; ++t) {
      bench::require(sion_seek(sid, t, SION_CURRENT_BLK, SION_CURRENT_POS) == 1, "sion_seek failed");
      data[0] = static_cast<char>(t);
      bench::require(sion_fwrite(data.data(), 1, piece, sid) == piece, "sion_fwrite failed");
    }
  }
  bench::require(sion_close(sid) == 1, "sion_close failed");
  const int fd = open(path.c_str(), O_RDONLY);
  bench::require(fd >= 0 && fsync(fd) == 0, "fsync failed");
  close(fd);
}
