// Compressed streams. One task writes particles with compress=zstd:1, compared with `zstd -1` on a file of
// the same bytes. Random reads of 64 KiB out of 1 GiB are compared with 2 ms each.
//
// Why this is fair: both sides write a compressed file to the same file system from bytes in memory (the
// peer's file is in the page cache). Both use one thread, the same library and the same level. (--threads
// sets our compression threads; the row with threads is reported only.) The peer's time includes the start of
// a process, some milliseconds of a second. Reads access offsets that were not read before, in a file that
// was opened before the clock starts.
#include <sys/stat.h>

#include <functional>
#include <random>

#include "../examples/particles/particle.hpp"
#include "../examples/particles/random.hpp"
#include "bench_common.hpp"
#include "sion.h"

namespace {

using bench::require;
using bench::Times;

// Returns particles like those at the start of the simulation in examples/particles: positions uniform in the
// box, velocities of a gas.
std::vector<particles::Particle> make_particles(size_t bytes) {
  std::vector<particles::Particle> all(bytes / sizeof(particles::Particle));
  for (size_t i = 0; i < all.size(); ++i) {
    const auto place = particles::philox(1, particles::Purpose::position, 0, i);
    const auto speed = particles::philox(1, particles::Purpose::velocity, 0, i);
    all[i].id = static_cast<std::int64_t>(i);
    for (size_t d = 0; d < 3; ++d) {
      all[i].position[d] = 100 * particles::unit(place[d]);
      all[i].velocity[d] = particles::unit(speed[d]) + particles::unit(speed[(d + 1) % 4]) - 1;
    }
  }
  return all;
}

int open_multifile(const std::string& path, const std::string& mode, int64_t bytes) {
  int ntasks = 1;
  int nfiles = 1;
  int rank = 0;
  sion_int64 chunk = bytes;
  sion_int32 fsblksize = -1;
  sion_int64* chunks = &chunk;
  int* ranks = &rank;
  std::string name = path;
  const int sid =
      sion_open(name.data(), mode.c_str(), &ntasks, &nfiles, &chunks, &fsblksize, &ranks, nullptr);
  require(sid >= 0, "sion_open failed");
  return sid;
}

void write_multifile(const std::string& path, const std::string& mode,
                     const std::vector<particles::Particle>& data, int64_t times) {
  constexpr size_t piece = 1 << 20;
  const auto* bytes = reinterpret_cast<const char*>(data.data());
  const size_t all = data.size() * sizeof data[0];
  const int sid = open_multifile(path, mode, times * static_cast<int64_t>(all));
  for (int64_t t = 0; t < times; ++t)
    for (size_t at = 0; at < all; at += piece)
      require(sion_fwrite(bytes + at, std::min(piece, all - at), 1, sid) == 1, "sion_fwrite failed");
  require(sion_close(sid) == 1, "sion_close failed");
}

void save(const std::string& path, const std::vector<particles::Particle>& data) {
  std::FILE* f = std::fopen(path.c_str(), "wb");
  require(f && std::fwrite(data.data(), sizeof data[0], data.size(), f) == data.size() && std::fclose(f) == 0,
          "cannot write");
}

double timed(const std::function<void()>& work) {
  const double start = bench::now();
  work();
  return bench::now() - start;
}

void compare_writing(const std::string& directory, const std::string& fs, int pairs, int64_t bytes) {
  const bench::ScratchDirectory scratch(directory, true, getpid());
  const auto data = make_particles(static_cast<size_t>(bytes));
  save(scratch.file("plain"), data);
  const std::string peer =
      "zstd -1 -q -f '" + scratch.file("plain") + "' -o '" + scratch.file("plain.zst") + "'";
  const auto run_peer = [&] {
    return Times{timed([&] { require(std::system(peer.c_str()) == 0, "zstd failed"); })};
  };
  const auto settle = [&] { bench::wait_for_idle(1); };
  for (const auto& [name, words, target] :
       {std::tuple{"compress.one-task/zstd-1", "wb,compress=zstd:1,compress_threads=0", 0.9},
        std::tuple{"compress.one-task-and-a-thread/zstd-1", "wb,compress=zstd:1,compress_threads=1", 0.0}})
    bench::compare(
        {{name, true, target, static_cast<double>(bytes)}}, fs, pairs, true,
        [&] { return Times{timed([&] { write_multifile(scratch.file("a.sion"), words, data, 1); })}; },
        run_peer, settle);
  struct stat multifile {};
  require(stat(scratch.file("a.sion").c_str(), &multifile) == 0, "stat failed");
  std::printf("  on disk: plain %ju, zstd -1 %ju, multifile %jd bytes\n",
              std::filesystem::file_size(scratch.file("plain")),
              std::filesystem::file_size(scratch.file("plain.zst")),
              static_cast<intmax_t>(multifile.st_blocks) * 512);
}

void read_at_random(const std::string& directory, const std::string& fs, int64_t bytes, int reads) {
  constexpr int64_t part = 64 << 20;
  constexpr int64_t length = 64 << 10;
  const bench::ScratchDirectory scratch(directory, true, getpid());
  const auto data = make_particles(static_cast<size_t>(std::min(part, bytes)));
  const auto size = static_cast<int64_t>(data.size() * sizeof data[0]);
  write_multifile(scratch.file("a.sion"), "wb,compress=zstd:1", data, bytes / size);
  const int sid = open_multifile(scratch.file("a.sion"), "rb", 0);
  std::mt19937_64 random(1);
  std::vector<char> found(length);
  std::vector<double> ours;
  for (int i = 0; i < reads; ++i) {
    const auto at = static_cast<sion_int64>(random() % static_cast<uint64_t>(bytes / size * size - length));
    ours.push_back(timed([&] {
      require(sion_seek(sid, SION_CURRENT_RANK, SION_ABSOLUTE_POS, at) == SION_SUCCESS, "sion_seek failed");
      require(sion_fread(found.data(), length, 1, sid) == 1, "sion_fread failed");
    }));
    const auto* whole = reinterpret_cast<const char*>(data.data());
    for (const int64_t k : {int64_t{0}, length - 1})
      require(found[static_cast<size_t>(k)] == whole[(at + k) % size], "other bytes were read");
  }
  require(sion_close(sid) == 1, "sion_close failed");
  bench::print_result({"compress.random-64KiB-of-1GiB/2ms", false, 1.0}, fs, ours,
                      std::vector<double>(ours.size(), 2e-3));
}

}  // namespace

int main(int argc, char** argv) {
  bench::BenchOptions options(argc, argv);
  const std::string parent = options.text("--dir", ".");
  const int pairs = static_cast<int>(options.number("--pairs", 7));
  const int64_t bytes = options.number("--bytes", 128 << 20);
  const int64_t large = options.number("--large", int64_t{1} << 30);
  const int reads = static_cast<int>(options.number("--reads", 500));
  options.check();
  const std::string fs = bench::file_system_of(parent);
  compare_writing(parent, fs, pairs, bytes);
  read_at_random(parent, fs, large, reads);
}
