// fault_runs DIR [RUNS=100] [FIRST=1]: random programs over the C interface, of whose system calls one to
// five fail, and which go on after each failure; in every mode. A close that succeeds has every byte that a
// call accepted. To be run with libfailing_calls.so in LD_PRELOAD; with SHEAF_FAULT_RUNS_MPI as a program of
// several tasks, each with failures of its own. Run N is the same each time: fault_runs DIR 1 N. Exit code 1,
// and what happened, if a byte is missing; 2 if it cannot work.
#include <dlfcn.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/random.hpp"
#include "sheaf.h"
#include "sion.h"
#include "support/accepted.hpp"
#ifdef SHEAF_FAULT_RUNS_MPI
#include <mpi.h>

#include "sion_mpi.h"
#endif

using namespace sheaf;
using namespace sheaf::test;

namespace {

#ifdef SHEAF_FAULT_RUNS_MPI
const char* const common_words[] = {
    "", ",files=2", ",collective", ",collective,collsize=2", ",collective,cmerge", ",buddy=1,files=2"};
#else
const char* const common_words[] = {""};
#endif
const char* const further_words[] = {"",
                                     ",durable",
                                     ",atomic",
                                     ",journal=off",
                                     ",checksums=off",
                                     ",buffer=0",
                                     ",compress=lz4",
                                     ",compress=zstd,compress_threads=0",
                                     ",keyval=inline",
                                     ",durable,compress=lz4",
                                     ",durable,buffer=0"};

struct Control {
  void (*begin)(const char*, const long*, int, int) = nullptr;
  long (*end)() = nullptr;
};

Control control() {
  Control c;
  *reinterpret_cast<void**>(&c.begin) = dlsym(RTLD_DEFAULT, "failing_calls_begin");
  *reinterpret_cast<void**>(&c.end) = dlsym(RTLD_DEFAULT, "failing_calls_end");
  return c;
}

struct Program {
  std::string mode;
  bool together = false, merged = false, keyval = false;
  bool repeats = false;  // what has failed
  sion_int64 chunk = 0;
  int calls = 0;
  int64_t largest = 0;
};

Program program_of(uint64_t seed, int tasks) {
  Random random(seed);
  Program p;
  const std::string first = common_words[random.below(std::ssize(common_words))];
  const std::string more = further_words[random.below(std::ssize(further_words))];
  p.together = first.find("collective") != std::string::npos;
  p.merged = first.find("cmerge") != std::string::npos;
  p.keyval = !p.together && more.find("keyval") != std::string::npos;
  const auto has = [](const std::string& words, const char* word) {
    return words.find(word) != std::string::npos;
  };
  // Not every word goes with every other.
  const bool alone = has(first, "cmerge")  ? has(more, "compress") || has(more, "keyval")
                     : has(first, "buddy") ? has(more, "compress") || has(more, "atomic")
                                           : has(first, "collective") && has(more, "keyval");
  p.mode = "wb" + (alone ? first : first + more);
  if (p.merged) p.mode += ",collsize=" + std::to_string(tasks);
  p.chunk = random.chance(2) ? 4096 : 512 + random.below(40000);
  p.calls = 3 + static_cast<int>(random.below(20));
  p.repeats = random.chance(2);
  p.largest = random.chance(3) ? 200'000 : random.chance(2) ? 9000 : 700;
  return p;
}

// The tasks of a run, and how they agree.
#ifdef SHEAF_FAULT_RUNS_MPI
struct World {
  int task = 0, tasks = 1;
  World() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &task);
    MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  }
  ~World() { MPI_Finalize(); }
  int open(const std::string& path, const Program& p) {
    int files = 1, rank = task;
    sion_int32 block = 512;
    sion_int64 chunk = p.chunk;
    MPI_Comm local = MPI_COMM_NULL;
    return sion_paropen_mpi(path.c_str(), p.mode.c_str(), &files, MPI_COMM_WORLD, &local, &chunk, &block,
                            &rank, nullptr, nullptr);
  }
  int close(int sid) { return sion_parclose_mpi(sid); }
  bool any(bool mine) {
    int all = mine;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    return all;
  }
  // At task 0: what each task has accepted, call by call for merged streams.
  std::vector<std::byte> from(int other, const std::vector<std::byte>& mine) {
    auto size = static_cast<int>(mine.size());
    MPI_Bcast(&size, 1, MPI_INT, other, MPI_COMM_WORLD);
    std::vector<std::byte> bytes = other == task ? mine : std::vector<std::byte>(static_cast<size_t>(size));
    MPI_Bcast(bytes.data(), size, MPI_BYTE, other, MPI_COMM_WORLD);
    return bytes;
  }
};
#else
struct World {
  int task = 0, tasks = 1;
  int open(const std::string& path, const Program& p) {
    int ntasks = 1, files = 1, rank = 0;
    int* ranks = &rank;
    sion_int32 block = 512;
    sion_int64 chunk = p.chunk;
    sion_int64* chunks = &chunk;
    return sion_open(const_cast<char*>(path.c_str()), p.mode.c_str(), &ntasks, &files, &chunks, &block,
                     &ranks, nullptr);
  }
  int close(int sid) { return sion_close(sid); }
  bool any(bool mine) { return mine; }
  std::vector<std::byte> from(int, const std::vector<std::byte>& mine) { return mine; }
};
#endif

// Bytes of a call, none equal to another's.
std::vector<std::byte> bytes_for(int task, int call, int64_t count) {
  return content(task + 1009 * (call + 1), 0, count);
}

void note(Accepted& ledger, int64_t task, bool keyval, uint64_t key, const std::vector<std::byte>& data) {
  if (keyval) {
    const uint64_t head[] = {key, data.size()};
    ledger.accept(task, std::as_bytes(std::span(head)));
  }
  ledger.accept(task, data);
}

// The calls between open and close. What was accepted is in `ledger`, of this task; merged: of all, in that
// of task 0.
void write_all(World& world, const Program& p, int sid, uint64_t seed, Accepted& ledger) {
  Random random(seed * 131 + static_cast<uint64_t>(world.task));
  for (int call = 0; call < p.calls; ++call) {
    const auto data = bytes_for(world.task, call, 1 + random.below(p.largest));
    const auto key = static_cast<uint64_t>(random.below(4));
    const auto write = [&](size_t bytes) {
      if (p.keyval) return sion_fwrite_key(data.data(), key, 1, bytes, sid) == bytes;
      return (p.together ? sion_coll_fwrite : sion_fwrite)(data.data(), 1, bytes, sid) == bytes;
    };
    bool accepted = write(data.size());
    for (int tries = 0; p.repeats && tries < 3; ++tries) {
      if (p.together ? !world.any(!accepted) : accepted) break;
      if (!accepted)
        accepted = write(data.size());
      else if (p.together)
        write(0);
    }
    if (!accepted) ledger.lack(data);
    if (p.merged) {
      const bool failed = world.any(!accepted);
      for (int other = 0; other < world.tasks; ++other) {
        const auto bytes = world.from(other, data);
        if (!failed) ledger.accept(0, bytes);
      }
    } else if (accepted) {
      note(ledger, world.task, p.keyval, key, data);
    }
    if (random.chance(5)) sion_flush(sid);
  }
}

struct Ended {
  bool opened = false, closed = false;
  long calls = 0;
};

Ended run(World& world, const Control& failing, const std::string& path, const Program& p, uint64_t seed,
          std::span<const long> at, int error, Accepted& ledger) {
  Ended ended;
  failing.begin(path.c_str(), at.data(), static_cast<int>(at.size()), error);
  const int sid = world.open(path, p);
  ended.opened = !world.any(sid < 0);
  if (ended.opened) {
    write_all(world, p, sid, seed, ledger);
    ended.closed = world.close(sid) == SION_SUCCESS;
  }
  ended.calls = failing.end();
  return ended;
}

// Returns whether the file has all that was accepted.
bool check(World& world, const std::string& path, const Program& p, const Accepted& own) {
  Accepted all(world.tasks);
  if (world.any(own.lacks_bytes())) all.lack(bytes_for(0, 0, 1));
  for (int t = 0; t < world.tasks; ++t) {
    if (!p.merged) {
      all.accept(t, world.from(t, own.of(t)));
    } else if (t == 0) {
      all.accept(0, own.of(0));
    }
  }
  if (world.task != 0) return true;
  all.expect_all_in(posix_store(), path);
  return !::testing::Test::HasFailure();
}

bool campaign(World& world, const Control& failing, const std::string& directory, uint64_t seed,
              int& good_closes) {
  const Program p = program_of(seed, world.tasks);
  const std::string path = directory + "/run";
  long calls = 0;
  for (int turn = 0; turn < 2; ++turn) {  // first without a failure, to learn how many calls there are
    Random random(seed * 977 + static_cast<uint64_t>(world.task));
    std::vector<long> at;
    for (int64_t n = turn == 0 ? 0 : 1 + random.below(5); n > 0; --n)
      at.push_back(static_cast<long>(random.below(calls)));
    const int errors[] = {EIO, ENOSPC, EDQUOT, EMFILE, EACCES};
    const int error = errors[random.below(5)];
    if (world.task == 0)
      for (const auto& old : std::filesystem::directory_iterator(directory)) std::filesystem::remove_all(old);
    world.any(false);
    Accepted ledger(world.tasks);
    const Ended ended = run(world, failing, path, p, seed, at, error, ledger);
    calls = std::max(ended.calls, 1L);
    const bool differ = world.any(ended.closed) != !world.any(!ended.closed);
    good_closes += turn == 1 && ended.closed;
    bool right = !differ && (turn > 0 || ended.closed);
    if (!differ && ended.closed) right = check(world, path, p, ledger) && right;
    if (world.any(!right)) {
      if (!right) {
        std::fprintf(stderr, "run %llu, task %d of %d, %s, chunk %lld: close %d%s; failing with %d:",
                     static_cast<unsigned long long>(seed), world.task, world.tasks, p.mode.c_str(),
                     static_cast<long long>(p.chunk), ended.closed,
                     differ ? ", not the same on all tasks" : "", error);
        for (const long a : at) std::fprintf(stderr, " %ld", a);
        std::fprintf(stderr, " of %ld calls; %s\n", ended.calls, sheaf_last_error());
      }
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc < 2) return 2;
  World world;
  const Control failing = control();
  if (!failing.begin || !failing.end) {
    std::fputs("fault_runs: libfailing_calls.so is not in LD_PRELOAD\n", stderr);
    return 2;
  }
  sheaf_print_errors(0);
  const std::string directory = argv[1];
  const int runs = argc > 2 ? std::atoi(argv[2]) : 100;
  const int first = argc > 3 ? std::atoi(argv[3]) : 1;
  int good_closes = 0;
  for (int seed = first; seed < first + runs; ++seed)
    if (!campaign(world, failing, directory, static_cast<uint64_t>(seed), good_closes)) return 1;
  if (world.task == 0)
    std::printf(
        "%d runs with one to five failing calls on each of %d tasks, %d good closes, no byte missing\n", runs,
        world.tasks, good_closes);
  return 0;
}
