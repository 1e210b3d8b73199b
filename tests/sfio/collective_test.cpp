// The collective calls of sfio.h under MPI. Every task writes blocks of its own and reads those of others. An
// error of one task must fail the call on all tasks. Compute task 0 prints "works". Uses the listeners that
// the environment specifies.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "sfio.h"
#include "sheaf.h"

namespace {

int me = 0;
int size = 1;

void require(bool holds, const char* what, int line) {
  if (holds) return;
  std::fprintf(stderr, "collective_test: task %d, line %d: %s (%s)\n", me, line, what, sheaf_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define REQUIRE(condition) require(condition, #condition, __LINE__)

bool says(const char* words) { return std::strstr(sheaf_last_error(), words) != nullptr; }

std::vector<char> content(int task, size_t bytes) {
  std::vector<char> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(17 * task + 3 * static_cast<int>(i));
  return data;
}

std::string name_of(int subfiles) {
  std::string name;
  for (int i = 0; i < subfiles; ++i)
    name += "#" + std::to_string(i % sfio_listeners()) + ",/together." + std::to_string(i) + ";";
  return name;
}

// Task t has bytes [t*bytes, (t+1)*bytes). All but task 0 write a second range after those of all tasks.
void ranges_and_blocks(int unit, int subfiles, int64_t bytes) {
  const std::string name = name_of(subfiles);
  MFILE* f = sfio_mopen(name.c_str(), unit);
  REQUIRE(f != nullptr);
  const auto mine = content(me, static_cast<size_t>(bytes));
  REQUIRE(sfio_mwritec_all(f, bytes * me, mine.data(), mine.size()) == bytes);
  // Makes no barrier, because a collective write must be visible to all tasks when it returns.
  const int next = (me + 1) % size;
  std::vector<char> found(mine.size());
  REQUIRE(sfio_mreadc(f, bytes * next, found.data(), found.size()) == bytes &&
          found == content(next, found.size()));

  const int64_t offsets[] = {bytes * (size + me), bytes * (2 * size + me)};
  const void* from[] = {mine.data(), mine.data()};
  const size_t sizes[] = {mine.size(), mine.size()};
  const unsigned blocks = me == 0 ? 0 : 2;
  REQUIRE(sfio_mwriteb_all(f, blocks, offsets, from, sizes) == bytes * blocks);
  std::vector<char> again(mine.size());
  void* to[] = {found.data(), again.data()};
  found.assign(mine.size(), 0);
  REQUIRE(sfio_mreadb_all(f, blocks, offsets, to, sizes) == bytes * blocks);
  if (me > 0) REQUIRE(found == mine && again == mine);
  // Reads at the end of the file, while one task requests no data.
  sfio_stat_t stat;
  REQUIRE(sfio_mstat(f, &stat) == 0);
  found.assign(mine.size(), 'x');
  const size_t wanted = me == size - 1 ? 0 : 5;
  REQUIRE(sfio_mreadc_all(f, stat.size - 3, found.data(), wanted) == (wanted > 0 ? 3 : 0));
  if (wanted > 0) REQUIRE(found[3] == 0 && found[4] == 0 && found[5] == 'x');
  REQUIRE(sfio_mclose(f) == 0);
  REQUIRE(sfio_mdelete(name.c_str()) == 0);
}

void errors_of_one_task() {
  const int printing = sheaf_print_errors(0);
  const std::string name = name_of(2);
  MFILE* f = sfio_mopen(name.c_str(), 10);
  REQUIRE(f != nullptr);
  const int culprit = size - 1;
  REQUIRE(sfio_mwritec_all(f, 3 * me, me == culprit ? nullptr : "abc", 3) == -1 && says("no buffer"));
  REQUIRE(sfio_mwritec_all(f, me == culprit ? -7 : 3 * me, "abc", 3) == -1 && says("-7"));
  REQUIRE(sfio_mwritec_all(me == culprit ? nullptr : f, 3 * me, "abc", 3) == -1 && says("no file"));
  REQUIRE(sfio_mreadb_all(f, me == culprit ? 1 : 0, nullptr, nullptr, nullptr) == -1 && says("no list"));
  sfio_stat_t stat;
  REQUIRE(sfio_mstat(f, &stat) == 0 && stat.size == 0);
  MPI_Barrier(sfio_comm());
  REQUIRE(sfio_mwritec_all(f, 3 * me, "abc", 3) == 3);
  REQUIRE(sfio_mclose(f) == 0);
  REQUIRE(sfio_mdelete(name.c_str()) == 0);
  sheaf_print_errors(printing);
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (sfio_start(MPI_COMM_WORLD, nullptr, nullptr) != 0) return 1;
  if (sfio_comm() != MPI_COMM_NULL) {
    MPI_Comm_rank(sfio_comm(), &me);
    MPI_Comm_size(sfio_comm(), &size);
    ranges_and_blocks(200, sfio_listeners(), 50'003);
    ranges_and_blocks(1, 3, 401);
    ranges_and_blocks(70'000, 2 * sfio_listeners(), 3'000'001);
    errors_of_one_task();
    REQUIRE(sfio_stop() == 0);
    if (me == 0) std::puts("works");
  }
  sheaf_print_errors(0);
  REQUIRE(sfio_mwritec_all(nullptr, 0, nullptr, 0) == -1 && says("no session"));
  MPI_Finalize();
  return 0;
}
