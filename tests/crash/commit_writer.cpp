// commit_writer PATH FIRST FILES...: saves the steps FIRST, FIRST + 1, ... under one name with `atomic` until
// it is killed. Each step has five tasks. The steps have, in turn, as many physical files as the arguments
// FILES state. A task's stream repeats the numbers of the step and of the task. The program prints each step
// after its close has succeeded.
//
// SAVE_WORDS=WORDS: words of the open mode in place of `atomic`. With `async`, a step counts as saved when
// its save is durable. KILL_AT_RENAME=N: the program dies by SIGKILL instead of its N-th rename.
#include <dlfcn.h>
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sheaf.h"
#include "sion.h"
#include "sion_mpi.h"

namespace {

constexpr int tasks = 5;
constexpr long pairs = 1500;  // pairs of numbers in a stream

void die_at_rename() {
  static int renames = 0;
  const char* const at = std::getenv("KILL_AT_RENAME");
  if (at && ++renames == std::atoi(at)) ::kill(::getpid(), SIGKILL);
}

std::string words() {
  const char* const given = std::getenv("SAVE_WORDS");
  return given ? given : "atomic";
}

// Closes the multifile, and waits until it has its name.
bool close(int sid) {
  if (words().find("async") == std::string::npos) return sion_parclose_mapped_mpi(sid) == SION_SUCCESS;
  sheaf_save* const pending = sheaf_parclose_async(sid);
  const bool durable = pending && sheaf_save_wait(pending, SHEAF_SAVE_DURABLE) == 1;
  sheaf_save_free(pending);
  return durable;
}

bool save(char* path, int files, long step, int rank, int size) {
  std::vector<int> ranks, numbers, locals;
  std::vector<sion_int64> chunks;
  int local[tasks] = {};
  for (int t = 0; t < tasks; ++t) {
    const int file = t % files;
    if (t % size == rank) {
      ranks.push_back(t);
      chunks.push_back(4000);
      numbers.push_back(file);
      locals.push_back(local[file]);
    }
    ++local[file];
  }
  int count = static_cast<int>(ranks.size());
  int *r = ranks.data(), *n = numbers.data(), *l = locals.data();
  sion_int64* c = chunks.data();
  sion_int32 block = 512;
  const std::string mode = "wb," + words();
  const int sid = sion_paropen_mapped_mpi(path, mode.c_str(), &files, MPI_COMM_WORLD, &count, &r, &c, &n, &l,
                                          &block, nullptr);
  if (sid < 0) return false;
  for (const int t : ranks) {
    sion_seek(sid, t, SION_CURRENT_BLK, SION_CURRENT_POS);
    for (long i = 0; i < pairs; ++i) {
      const long pair[2] = {step, t};
      if (sion_fwrite(pair, sizeof pair, 1, sid) != 1) return false;
    }
  }
  return close(sid);
}

}  // namespace

// Replaces the C library's renameat(), so that the Sheaf library calls this function.
extern "C" __attribute__((visibility("default"))) int renameat(int from, const char* old, int to,
                                                               const char* now) noexcept {
  using Rename = int (*)(int, const char*, int, const char*);
  static const auto real = reinterpret_cast<Rename>(::dlsym(RTLD_NEXT, "renameat"));
  die_at_rename();
  return real(from, old, to, now);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 4) return 2;
  for (long step = std::atol(argv[2]);; ++step) {
    if (!save(argv[1], std::atoi(argv[3 + step % (argc - 3)]), step, rank, size)) return 1;
    if (rank == 0) {
      std::printf("%ld\n", step);
      std::fflush(stdout);
    }
  }
}
