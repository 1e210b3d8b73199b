// Speed of CRC32C from the processor's caches: every implementation that this machine has, and as bounds a
// loop that only reads and memcpy.
//
//   bench_crc32c [--runs N]
//
// Prints GB/s of one core, the best of N runs (40), for buffers of 16 KiB to 256 MiB. The largest one comes
// from memory.
#include <functional>

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

}  // namespace

int main(int argc, char** argv) {
  bench::BenchOptions options(argc, argv);
  const int64_t runs = options.number("--runs", 40);
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
  }
  return 0;
}
