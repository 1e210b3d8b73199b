// Failures under a real MPI: failures_test lost|full|slow. Every compute task prints "works". The listeners
// are n0 and n1.
//
// - lost PID_FILE SIGNAL: the process that the file names gets the signal. Its subfile must fail, the other
//   listener's must not
// - full: the disk of n1 has too little space for the data; the close must fail
// - slow DIRECTORY: the listeners sync for longer than the timeout of a silent listener; no call may fail
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "sfio.h"
#include "sheaf.h"
#include "sion.h"

namespace {

int me = 0;
int size = 1;

void require(bool holds, const char* what, int line) {
  if (holds) return;
  std::fprintf(stderr, "failures_test: task %d, line %d: %s (%s)\n", me, line, what, sheaf_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define REQUIRE(condition) require(condition, #condition, __LINE__)

constexpr int unit = 1000;
constexpr int64_t bytes = 400 * unit;  // of every task
const char* const name = "n0,/f.dat;n1,/f.dat;";

bool says(const char* words) { return std::strstr(sheaf_last_error(), words) != nullptr; }

// Writes `c` to the units of one subfile in this task's range.
int64_t write_half(MFILE* f, int subfile, char c) {
  static std::vector<char> data;
  data.assign(bytes, c);
  std::vector<int64_t> offsets;
  std::vector<const void*> buffers;
  std::vector<size_t> sizes;
  for (int64_t at = 0; at < bytes; at += unit) {
    if (at / unit % 2 != subfile) continue;
    offsets.push_back(bytes * me + at);
    buffers.push_back(data.data() + at);
    sizes.push_back(unit);
  }
  return sfio_mwriteb(f, static_cast<unsigned>(sizes.size()), offsets.data(), buffers.data(), sizes.data());
}

// Requires that every byte of this task in subfile 0 is `c`.
void check_first_half(MFILE* f, char c) {
  for (int64_t at = 0; at < bytes; at += 2 * unit) {
    std::vector<char> found(unit);
    REQUIRE(sfio_mreadc(f, bytes * me + at, found.data(), found.size()) == unit);
    REQUIRE(found == std::vector<char>(unit, c));
  }
}

MFILE* prepared() {
  MFILE* f = sfio_mopen(name, unit);
  REQUIRE(f != nullptr);
  REQUIRE(write_half(f, 0, 'a') == bytes / 2);
  MPI_Barrier(sfio_comm());
  return f;
}

void lost(const char* pid_file, int signal) {
  MFILE* f = prepared();
  REQUIRE(write_half(f, 1, 'b') == bytes / 2);
  MPI_Barrier(sfio_comm());
  if (me == 0) {
    int pid = 0;
    REQUIRE((std::ifstream(pid_file) >> pid) && pid > 1);
    REQUIRE(kill(pid, signal) == 0);
  }
  MPI_Barrier(sfio_comm());
  std::vector<char> all(bytes, 'c');
  const double begin = MPI_Wtime();
  REQUIRE(sfio_mwritec(f, bytes * me, all.data(), bytes) == -1);
  REQUIRE(says("I/O listener 'n1'") && says("gone") && says("/f.dat"));
  REQUIRE(sfio_mreadc(f, bytes * me, all.data(), bytes) == -1);
  REQUIRE(says("I/O listener 'n1'"));
  unsigned long counts[SFIO_ERRORS];
  REQUIRE(sfio_merror(counts) == 0);
  REQUIRE(counts[SFIO_WRITE] == 1 && counts[SFIO_READ] == 1);  // no listener has counted them
  // SHEAF_SFIO_TIMEOUT is 3 s; the machine may be busy.
  REQUIRE(MPI_Wtime() - begin < 60);
  REQUIRE(write_half(f, 0, 'd') == bytes / 2);
  check_first_half(f, 'd');
  MPI_Barrier(sfio_comm());
  REQUIRE(sfio_mclose(f) == -1);
  REQUIRE(says("I/O listener 'n1'"));
  MPI_Barrier(sfio_comm());
}

void full() {
  MFILE* f = prepared();
  REQUIRE(write_half(f, 1, 'b') == -1);
  REQUIRE(says("I/O listener 'n1'") && says("/n1/f.dat") && says(std::strerror(ENOSPC)));
  REQUIRE(write_half(f, 0, 'c') == bytes / 2);
  check_first_half(f, 'c');
  MPI_Barrier(sfio_comm());
  unsigned long counts[SFIO_ERRORS];
  REQUIRE(sfio_merrora(counts) == 0);
  REQUIRE(counts[SFIO_WRITE] >= static_cast<unsigned long>(size) && counts[SFIO_READ] == 0 &&
          counts[SFIO_OPEN] == 0);
  REQUIRE(sfio_mclose(f) == -1);
  REQUIRE(says(std::strerror(ENOSPC)) && says(" are missing: "));
  REQUIRE(sfio_mdelete(name) == 0);
  // Bytes beyond the end of the file must not count as missing.
  f = prepared();
  REQUIRE(write_half(f, 1, 'b') == -1);
  MPI_Barrier(sfio_comm());
  REQUIRE(sfio_mchsize(f, 0) == 0);
  REQUIRE(sfio_mclose(f) == 0);
  REQUIRE(sfio_mdelete(name) == 0);
}

void slow(const std::string& directory) {
  const std::string own = directory + "/" + std::to_string(me);
  std::string path = "sfio:unit=1000;#0," + own + ".0;#1," + own + ".1;";
  int tasks = 1, files = 1, rank = 0;
  int* ranks = &rank;
  sion_int64 chunk = bytes;
  sion_int64* chunks = &chunk;
  sion_int32 block = -1;
  const int sid = sion_open(path.data(), "wb,durable", &tasks, &files, &chunks, &block, &ranks, nullptr);
  REQUIRE(sid >= 0);
  const std::string data(bytes, static_cast<char>('a' + me));
  REQUIRE(sion_fwrite(data.data(), 1, bytes, sid) == bytes);
  // While the file `slow` exists, syncs are slow: those of this flush, but not those of the open and the
  // close.
  const std::string mark = directory + "/slow";
  std::ofstream(mark).close();
  const double begin = MPI_Wtime();
  REQUIRE(sion_flush(sid) == 1);
  REQUIRE(MPI_Wtime() - begin > 2.5);
  MPI_Barrier(sfio_comm());
  if (me == 0) std::remove(mark.c_str());
  MPI_Barrier(sfio_comm());
  REQUIRE(sion_close(sid) == 1);
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  const char* const wanted = std::getenv("SFIO_TEST_LEVEL");
  MPI_Init_thread(&argc, &argv, wanted ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE, &level);
  if (argc < 2 || sfio_start(MPI_COMM_WORLD, nullptr, nullptr) != 0) return 1;
  if (sfio_comm() != MPI_COMM_NULL) {
    MPI_Comm_rank(sfio_comm(), &me);
    MPI_Comm_size(sfio_comm(), &size);
    const bool kills = std::strcmp(argv[1], "lost") == 0;
    if (kills)
      lost(argv[2], std::atoi(argv[3]));
    else if (std::strcmp(argv[1], "slow") == 0)
      slow(argv[2]);
    else
      full();
    std::printf("task %d works\n", me);
    std::fflush(stdout);
    if (kills) _exit(0);  // MPI_Finalize would wait for the dead process
  }
  MPI_Finalize();
  return 0;
}
