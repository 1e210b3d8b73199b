// bench/bench_common: how all benchmarks compare Sheaf with its peer.
//
// Both sides do the same work in the same process, in turn (A B, B A, A B, ...), so that other activity of
// the machine affects both alike. In its turn each side runs several times, and the minimum time counts. The
// reason is that virtual machines return memory that is unused for two seconds to their host, page by page.
// The next use of such a page waits for the host: 12 microseconds per page on the test machine, so a file of
// 256 MiB took 0.8 s instead of 0.07 s. Each run leaves free memory in the sizes that the next run of the
// same work requests. The result is the median of the ratios within a pair, printed with its spread. Each row
// ends in a machine-readable line:
//   RESULT name=<row> fs=<file system> ratio=<median> min=<> max=<> ours=<s> peer=<s> target=<>
//   pass=<yes|no|->
#pragma once

#include <stdlib.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace bench {

// Returns the seconds of a clock that all processes of a machine share.
inline double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Returns the processor time of this process in seconds.
inline double processor_time() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

[[noreturn]] inline void fail(const std::string& what) {
  std::fflush(stdout);
  std::fprintf(stderr, "bench: %s\n", what.c_str());
  _Exit(1);
}

inline void require(bool condition, const char* what) {
  if (!condition) fail(what);
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

// Waits until other processes have used less than a tenth of the machine's cores for a tenth of a second, but
// at most `patience` seconds. Called before each timed run of both sides.
inline void wait_for_idle(double patience) {
  const auto used = [](double& idle, double& all) {
    std::FILE* f = std::fopen("/proc/stat", "r");
    if (!f) return false;
    double v[8] = {};
    const int n = std::fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", v, v + 1, v + 2, v + 3, v + 4, v + 5,
                              v + 6, v + 7);
    std::fclose(f);
    idle = v[3] + v[4];
    all = v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7];
    return n == 8;
  };
  double idle[2];
  double all[2];
  for (const double end = now() + patience; now() < end;) {
    if (!used(idle[0], all[0])) return;
    usleep(100'000);
    if (!used(idle[1], all[1]) || idle[1] - idle[0] > 0.9 * (all[1] - all[0])) return;
  }
}

// Command line: options "--name value" and flags "--name". check() rejects options that the program has not
// queried.
class BenchOptions {
 public:
  BenchOptions(int argc, char** argv) : words_(argv + 1, argv + argc), used_(words_.size(), false) {}

  std::string text(const char* name, std::string otherwise) {
    const size_t at = find(name);
    if (at + 1 >= words_.size()) return otherwise;
    used_[at + 1] = true;
    return words_[at + 1];
  }
  // Returns a number with an optional suffix K, M or G (powers of 1024).
  int64_t number(const char* name, int64_t otherwise) {
    const std::string given = text(name, "");
    if (given.empty()) return otherwise;
    char* end = nullptr;
    const int64_t n = std::strtoll(given.c_str(), &end, 10);
    const int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (end == given.c_str() || (shift == 0 && *end)) fail("no number: " + given);
    return n << shift;
  }
  bool flag(const char* name) { return find(name) < words_.size(); }
  void check() const {
    for (size_t i = 0; i < words_.size(); ++i)
      if (!used_[i]) fail("unknown option " + words_[i]);
  }

 private:
  size_t find(const char* name) {
    const auto at = static_cast<size_t>(std::find(words_.begin(), words_.end(), name) - words_.begin());
    if (at < words_.size()) used_[at] = true;
    return at;
  }
  std::vector<std::string> words_;
  std::vector<bool> used_;
};

inline std::string file_system_of(const std::string& directory) {
  struct statfs found;
  if (statfs(directory.c_str(), &found) != 0) return "unknown";
  switch (static_cast<unsigned long>(found.f_type)) {
    case 0xEF53:
      return "ext4";
    case 0x01021994:
      return "tmpfs";
    case 0x58465342:
      return "xfs";
    case 0x9123683E:
      return "btrfs";
    default:
      return "other";
  }
}

// A directory of this run under --dir, removed at the end. Only one process of a run may own it. `run` is a
// number that the processes of a run share and no other run has, such as the owner's process id.
class ScratchDirectory {
 public:
  ScratchDirectory(const std::string& parent, bool owner, int run)
      : path_(parent + "/sheaf-bench." + std::to_string(run)), owner_(owner) {
    if (owner_) empty();
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    if (owner_) std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  // Removes all files, and thereby their pages in the page cache.
  void empty() const {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool owner_;
};

// How a row is evaluated. A ratio of bandwidths is peer's time / our time; a ratio of times is our time /
// peer's time.
struct ResultRow {
  std::string name;
  bool of_bandwidths = false;
  double target = 0;  // bandwidth: minimum; time: maximum; 0: reported only
  double bytes = 0;   // transferred in one run, to print GB/s; 0: print times
};

// Times of the phases of one run, in seconds; row p evaluates phase p.
using Times = std::vector<double>;

inline void print_result(const ResultRow& row, const std::string& fs, const std::vector<double>& ours,
                         const std::vector<double>& peer) {
  std::vector<double> ratios;
  for (size_t i = 0; i < ours.size(); ++i)
    ratios.push_back(row.of_bandwidths ? peer[i] / ours[i] : ours[i] / peer[i]);
  const double middle = median(ratios);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  char target[32] = "-";
  const char* pass = "-";
  if (row.target > 0) {
    std::snprintf(target, sizeof target, "%s%.4g", row.of_bandwidths ? ">=" : "<=", row.target);
    pass = (row.of_bandwidths ? middle >= row.target : middle <= row.target) ? "yes" : "no";
  }
  std::printf("RESULT name=%s fs=%s ratio=%.4g min=%.4g max=%.4g ours=%.4g peer=%.4g target=%s pass=%s\n",
              row.name.c_str(), fs.c_str(), middle, *least, *most, median(ours), median(peer), target, pass);
  std::fflush(stdout);
}

inline void print_pair(const ResultRow& row, int pair, double ours, double peer) {
  if (row.bytes > 0) {
    std::printf("  %-28s pair %2d  ours %7.3f GB/s  peer %7.3f GB/s  ratio %.4f\n", row.name.c_str(), pair,
                1e-9 * row.bytes / ours, 1e-9 * row.bytes / peer,
                row.of_bandwidths ? peer / ours : ours / peer);
  } else {
    std::printf("  %-28s pair %2d  ours %9.3f ms  peer %9.3f ms  ratio %.5f\n", row.name.c_str(), pair,
                1e3 * ours, 1e3 * peer, row.of_bandwidths ? peer / ours : ours / peer);
  }
  std::fflush(stdout);
}

// Returns the minimum times of `runs` runs of `work`, which returns Times. `settle()` runs before each.
template <class Work, class Settle>
Times min_times(int runs, Work work, Settle settle) {
  Times least;
  for (int run = 0; run < runs; ++run) {
    settle();
    const Times times = work();
    if (run == 0) least = times;
    for (size_t r = 0; r < least.size(); ++r) least[r] = std::min(least[r], times[r]);
  }
  return least;
}

// Runs `ours` and `peer` in turn; each returns Times, one per row. `settle()` runs before every run, and each
// side runs `runs` times in its turn. In a parallel program every task calls this function, and one task has
// `print` set.
template <class Ours, class Peer, class Settle>
void compare(const std::vector<ResultRow>& rows, const std::string& fs, int pairs, bool print, Ours ours,
             Peer peer, Settle settle, int runs = 4) {
  std::vector<std::vector<double>> own(rows.size());
  std::vector<std::vector<double>> other(rows.size());
  for (int pair = 1; pair <= pairs; ++pair) {
    Times a;
    Times b;
    for (int turn = 0; turn < 2; ++turn) {
      if ((pair + turn) % 2 == 0) {
        a = min_times(runs, ours, settle);
      } else {
        b = min_times(runs, peer, settle);
      }
    }
    for (size_t r = 0; r < rows.size(); ++r) {
      own[r].push_back(a[r]);
      other[r].push_back(b[r]);
      if (print) print_pair(rows[r], pair, a[r], b[r]);
    }
  }
  settle();
  if (!print) return;
  for (size_t r = 0; r < rows.size(); ++r) print_result(rows[r], fs, own[r], other[r]);
}

}  // namespace bench
