// Speed of CRC32C from the processor's caches: every implementation that this machine has, and as bounds a
// loop that only reads and memcpy.
//
//   bench_crc32c [--runs N] [--dir DIR]
//
// Prints GB/s of one core, the best of N runs (40), for buffers of 16 KiB to 256 MiB. The largest one comes
// from memory. --dir: prints the seconds of writing these 256 MiB to a file in DIR by pwrite, in pieces of
// 1 MiB and 128 KiB, alone and with the sum of each piece before or after its write; medians of N runs, which
// take turns, for new and for existing files.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <span>

#include "base/crc32c.hpp"
#include "bench_common.hpp"

namespace {

volatile uint64_t result;  // keeps the compiler from removing the work

// Returns the bytes per second of `work`, which processes `bytes` bytes.
double best_speed(int64_t runs, size_t bytes, const std::function<void()>& work) {
  const size_t repeats = std::max<size_t>(1, (4 << 20) / bytes);
  double least = 1e9;
  for (int64_t run = 0; run < runs; ++run) {
    const double begin = bench::now();
    for (size_t i = 0; i < repeats; ++i) work();
    least = std::min(least, (bench::now() - begin) / static_cast<double>(repeats));
  }
  return static_cast<double>(bytes) / least;
}

using Lanes [[gnu::vector_size(16)]] = uint64_t;

uint64_t read_only(const std::vector<uint64_t>& words) {
  Lanes a{}, b{}, c{}, d{};
  for (size_t i = 0; i < words.size(); i += 8) {
    Lanes next[4];
    std::memcpy(next, &words[i], sizeof next);
    a |= next[0];
    b |= next[1];
    c |= next[2];
    d |= next[3];
  }
  a |= b | c | d;
  return a[0] | a[1];
}

enum class Summed { not_at_all, before, after };

// Returns the seconds of one write of `bytes` to `path`.
double seconds_of_write(const std::string& path, std::span<const std::byte> bytes, size_t piece,
                        Summed summed) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  bench::require(fd >= 0, "cannot create the file");
  const sheaf::Crc32cWay& way = sheaf::crc32c_ways().front();
  const double begin = bench::now();
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const std::byte* const data = bytes.data() + at;
    if (summed == Summed::before) result = way.update(0, data, piece);
    bench::require(pwrite(fd, data, piece, static_cast<off_t>(at)) == static_cast<ssize_t>(piece),
                   "a write failed");
    if (summed == Summed::after) result = way.update(0, data, piece);
  }
  const double seconds = bench::now() - begin;
  bench::require(close(fd) == 0, "close failed");
  return seconds;
}

void print_writes(const std::string& directory, std::span<const std::byte> bytes, int64_t runs) {
  const std::string path = directory + "/bench_crc32c." + std::to_string(getpid());
  for (const bool exists : {false, true})
    for (const size_t piece : {1 << 20, 128 << 10}) {
      std::array<std::vector<double>, 3> seconds;
      for (int64_t run = 0; run < runs; ++run)
        for (const Summed summed : {Summed::not_at_all, Summed::before, Summed::after}) {
          if (!exists) unlink(path.c_str());
          seconds[static_cast<size_t>(summed)].push_back(seconds_of_write(path, bytes, piece, summed));
        }
      std::printf("%s file, pieces of %4zu KiB:", exists ? "old" : "new", piece >> 10);
      for (auto& one : seconds) {
        std::ranges::nth_element(one, one.begin() + std::ssize(one) / 2);
        std::printf(" %.4f", one[one.size() / 2]);
      }
      std::printf(" s (alone, summed before, after)\n");
    }
  unlink(path.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  bench::BenchOptions options(argc, argv);
  const int64_t runs = options.number("--runs", 40);
  const std::string directory = options.text("--dir", "");
  options.check();
  for (const size_t kib : {16, 64, 128, 256, 1024, 256 << 10}) {
    std::vector<uint64_t> words((kib << 10) / 8);
    for (size_t i = 0; i < words.size(); ++i) words[i] = i * 0x9E3779B97F4A7C15u;
    std::vector<uint64_t> copy(words.size());
    const auto bytes = std::as_bytes(std::span(words));
    const auto speed = [&](const std::function<void()>& work) {
      return 1e-9 * best_speed(runs, bytes.size(), work);
    };
    std::printf("%7zu KiB", kib);
    for (const sheaf::Crc32cWay& way : sheaf::crc32c_ways())
      std::printf("  %s %.1f", way.name, speed([&] { result = way.update(0, bytes.data(), bytes.size()); }));
    std::printf("  memcpy %.1f", speed([&] {
                  std::memcpy(copy.data(), words.data(), bytes.size());
                  result = copy[words.size() / 2];
                }));
    std::printf("  read %.1f GB/s\n", speed([&] { result = read_only(words); }));
    std::fflush(stdout);
    if (!directory.empty() && kib == 256 << 10) print_writes(directory, bytes, runs);
  }
  return 0;
}
