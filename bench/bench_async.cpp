// bench_async PART DIRECTORY [--bytes 1G] [--piece 16M] [--words WORDS] [--saves 30] [--plain-first]: one
// measurement of saves in the background by one task, for bench_async.py. Prints lines `VALUE name number`;
// times are in seconds.
//
//   held       the time in write and close, and that of memcpy of the same pieces into touched memory; for
//              the first save of the process and, after that is durable, for the second
//   hidden     a synchronous durable save; a save in the background beside computing that takes as long as
//              the synchronous one; the same computing alone
//   slowdown   rates of a compute loop on a core of its own: alone, and until the save beside it is durable
//   bandwidth  time from the first write until the save is durable; time of pwrite, fsync and rename of the
//              same bytes
//   repeat     memory, descriptors and threads of the process after each save of a series, which begins after
//              one of four times their bytes: captured memory grows until no save needs more at once
#include <fcntl.h>
#include <sched.h>

#include <cmath>
#include <functional>

#include "bench_common.hpp"
#include "sheaf.h"
#include "sion.h"

namespace {

struct Setup {
  std::string directory;
  std::vector<char> state{};  // the bytes to save
  size_t piece = 0;           // bytes of a write
  std::string words{};        // added to the open mode
};

void tell(const char* name, double value) { std::printf("VALUE %s %.9g\n", name, value); }

int open_to_write(const Setup& setup, const std::string& path, const std::string& words) {
  int tasks = 1;
  int files = 1;
  int block = -1;
  sion_int64 size = static_cast<sion_int64>(setup.state.size());
  int rank = 0;
  sion_int64* sizes = &size;
  int* ranks = &rank;
  const std::string mode = "bw," + words + (setup.words.empty() ? "" : "," + setup.words);
  const int sid = sion_open(const_cast<char*>(path.c_str()), mode.c_str(), &tasks, &files, &sizes, &block,
                            &ranks, nullptr);
  bench::require(sid >= 0, "the open failed");
  return sid;
}

void write_pieces(const Setup& setup, const std::function<bool(const char*, size_t)>& write) {
  for (size_t at = 0; at < setup.state.size(); at += setup.piece)
    bench::require(write(setup.state.data() + at, std::min(setup.piece, setup.state.size() - at)),
                   "a write failed");
}

void write_state(const Setup& setup, int sid) {
  write_pieces(setup, [&](const char* data, size_t size) { return sion_fwrite(data, 1, size, sid) == size; });
}

// A save in the background, with the time that its writes and its close have taken.
struct HeldSave {
  sheaf_save* handle;
  double held;
};

HeldSave begin_save(const Setup& setup, const std::string& path, const std::string& words = "async") {
  const int sid = open_to_write(setup, path, words);
  const double begin = bench::now();
  write_state(setup, sid);
  sheaf_save* const handle = sheaf_parclose_async(sid);
  const double held = bench::now() - begin;
  bench::require(handle != nullptr, "the close failed");
  return {handle, held};
}

void wait_for(sheaf_save* save) {
  bench::require(sheaf_save_wait(save, SHEAF_SAVE_DURABLE) == 1, "the save failed");
  sheaf_save_free(save);
}

void measure_held(const Setup& setup) {
  std::vector<char> touched(setup.state.size(), 1);
  for (const char* when : {"first", "later"}) {
    double begin = bench::now();
    size_t at = 0;
    write_pieces(setup, [&](const char* data, size_t size) {
      std::memcpy(touched.data() + at, data, size);
      at += size;
      return true;
    });
    tell((std::string("memcpy_") + when).c_str(), bench::now() - begin);
    begin = bench::now();
    const HeldSave save = begin_save(setup, setup.directory + "/held.sion");
    tell((std::string("held_") + when).c_str(), save.held);
    wait_for(save.handle);
    tell((std::string("durable_") + when).c_str(), bench::now() - begin);
  }
}

// --- computing ---

// A loop that stays in the caches of its core.
class Computing {
 public:
  Computing() : values_(4096, 0.5) {}
  void step() {
    for (double& value : values_) value = std::sqrt(value * value * 0.75 + 0.125);
  }
  // Performs steps until `ends()`. Returns their number.
  int64_t run_until(const std::function<bool()>& ends) {
    int64_t steps = 0;
    for (; !ends(); ++steps)
      for (int i = 0; i < 50; ++i) step();
    return steps;
  }
  // Returns the seconds of `steps` steps.
  double run(int64_t steps) {
    const double begin = bench::now();
    for (int64_t done = 0; done < steps; ++done)
      for (int i = 0; i < 50; ++i) step();
    return bench::now() - begin;
  }
  // Returns the steps that take `seconds`.
  int64_t steps_in(double seconds) {
    const double end = bench::now() + seconds;
    return run_until([&] { return bench::now() >= end; });
  }

 private:
  std::vector<double> values_;
};

// Binds the calling thread to its core. Threads that exist stay where they may.
void bind_to_core() {
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(sched_getcpu(), &own);
  bench::require(sched_setaffinity(0, sizeof own, &own) == 0, "no core of its own");
}

void measure_hidden(const Setup& setup) {
  wait_for(
      begin_save(setup, setup.directory + "/warm.sion").handle);  // allocates memory and starts the thread
  const int sid = open_to_write(setup, setup.directory + "/now.sion", "atomic,durable,journal=off");
  double begin = bench::now();
  write_state(setup, sid);
  bench::require(sion_close(sid) == SION_SUCCESS, "the close failed");
  const double now = bench::now() - begin;

  bind_to_core();
  Computing computing;
  const int64_t steps = computing.steps_in(1.2 * now);
  const double alone = computing.run(steps);
  const int async = open_to_write(setup, setup.directory + "/later.sion", "async");
  begin = bench::now();
  write_state(setup, async);
  sheaf_save* const save = sheaf_parclose_async(async);
  bench::require(save != nullptr, "the close failed");
  const double held = bench::now() - begin;
  const double beside = computing.run(steps);
  wait_for(save);
  const double all = bench::now() - begin;
  tell("synchronous", now);
  tell("held", held);
  tell("computing_alone", alone);
  tell("computing_beside", beside);
  tell("all", all);
}

void measure_slowdown(const Setup& setup) {
  wait_for(begin_save(setup, setup.directory + "/warm.sion").handle);
  bind_to_core();
  Computing computing;
  const auto rate = [&](const std::function<bool()>& ends) {
    const double begin = bench::now();
    const auto steps = static_cast<double>(computing.run_until(ends));
    return steps / (bench::now() - begin);
  };
  const auto for_a_second = [&] { return [end = bench::now() + 1] { return bench::now() >= end; }; };
  computing.steps_in(0.5);
  const double before = rate(for_a_second());
  const HeldSave save = begin_save(setup, setup.directory + "/beside.sion");
  const double begin = bench::now();
  // Looks at the save ten times a second: a look opens a small file.
  double next = begin + 0.1;
  const double beside = rate([&] {
    if (bench::now() < next) return false;
    next += 0.1;
    return sheaf_save_test(save.handle) == SHEAF_SAVE_DURABLE;
  });
  tell("seconds_beside", bench::now() - begin);
  const double after = rate(for_a_second());
  wait_for(save.handle);
  tell("rate_before", before);
  tell("rate_beside", beside);
  tell("rate_after", after);
  tell("slowdown", 0.5 * (before + after) / beside);
}

double write_plainly(const Setup& setup, const std::string& path) {
  const std::string temporary = path + ".new";
  const double begin = bench::now();
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bench::require(file >= 0, "no plain file");
  off_t at = 0;
  write_pieces(setup, [&](const char* data, size_t size) {
    const bool whole = ::pwrite(file, data, size, at) == static_cast<ssize_t>(size);
    at += static_cast<off_t>(size);
    return whole;
  });
  bench::require(::fsync(file) == 0 && ::close(file) == 0 && ::rename(temporary.c_str(), path.c_str()) == 0,
                 "the plain file failed");
  const int directory = ::open(setup.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bench::require(directory >= 0 && ::fsync(directory) == 0 && ::close(directory) == 0,
                 "the directory failed");
  return bench::now() - begin;
}

// The caller alternates the order, because either writer may leave work to the other one.
void measure_bandwidth(const Setup& setup, bool plain_first) {
  wait_for(begin_save(setup, setup.directory + "/warm.sion").handle);
  const auto plain = [&] { tell("plain", write_plainly(setup, setup.directory + "/plain")); };
  if (plain_first) plain();
  const double begin = bench::now();
  wait_for(begin_save(setup, setup.directory + "/background.sion").handle);
  tell("background", bench::now() - begin);
  if (!plain_first) plain();
}

// --- a series ---

// Returns a number from /proc/self/status, such as "VmRSS:" in KiB.
double own_status(const std::string& key) {
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  bench::require(file != nullptr, "no /proc/self/status");
  char line[256];
  double found = -1;
  while (std::fgets(line, sizeof line, file))
    if (std::strncmp(line, key.c_str(), key.size()) == 0) found = std::atof(line + key.size());
  std::fclose(file);
  return found;
}

double open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<double>(std::distance(begin(all), end(all)));
}

void measure_repeat(const Setup& setup, int64_t saves) {
  const int large = open_to_write(setup, setup.directory + "/large.sion", "async");
  for (int i = 0; i < 4; ++i) write_state(setup, large);
  wait_for(sheaf_parclose_async(large));
  for (int64_t i = 1; i <= saves; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "/step.%04lld.sion", static_cast<long long>(i));
    const HeldSave save = begin_save(setup, setup.directory + name, "async,keep=2");
    wait_for(save.handle);
    tell("memory", 1024 * own_status("VmRSS:"));
    tell("descriptors", open_descriptors());
    tell("threads", own_status("Threads:"));
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::require(argc >= 3, "usage: bench_async PART DIRECTORY [--bytes 1G] ...");
  const std::string part = argv[1];
  bench::BenchOptions options(argc - 2, argv + 2);
  Setup setup{.directory = argv[2]};
  const auto bytes = static_cast<size_t>(options.number("--bytes", int64_t{1} << 30));
  setup.piece = static_cast<size_t>(options.number("--piece", 16 << 20));
  setup.words = options.text("--words", "");
  const int64_t saves = options.number("--saves", 30);
  const bool plain_first = options.flag("--plain-first");
  options.check();
  bench::require(setup.piece > 0 && bytes > 0, "no bytes");
  setup.state.resize(bytes);
  for (size_t i = 0; i < bytes; i += 8) {
    const uint64_t value = i * 0x9e3779b97f4a7c15U;
    std::memcpy(setup.state.data() + i, &value, std::min<size_t>(8, bytes - i));
  }
  if (part == "held") {
    measure_held(setup);
  } else if (part == "hidden") {
    measure_hidden(setup);
  } else if (part == "slowdown") {
    measure_slowdown(setup);
  } else if (part == "bandwidth") {
    measure_bandwidth(setup, plain_first);
  } else if (part == "repeat") {
    measure_repeat(setup, saves);
  } else {
    bench::fail("unknown part " + part);
  }
  return 0;
}
