// All calls of sfio.h under MPI, with the listeners that the environment specifies. Returns 0 if all checks
// pass on all tasks.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "sfio.h"
#include "sheaf.h"
#define SION_MPI
#include "sion.h"

namespace {

int me = 0;
int size = 1;

void require(bool holds, const char* what, int line) {
  if (holds) return;
  std::fprintf(stderr, "calls_test: task %d, line %d: %s (%s)\n", me, line, what, sheaf_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define REQUIRE(condition) require(condition, #condition, __LINE__)

void barrier() { MPI_Barrier(sfio_comm()); }

// Returns the current directory at the start of the program.
std::string root() {
  static const std::string absolute = std::filesystem::absolute(std::getenv("SHEAF_SFIO_ROOT"));
  return absolute;
}

// Returns a name over `subfiles` subfiles on all listeners in turn. Paths are numbered unless every listener
// has only one subfile.
std::string name_of(const std::string& path, int subfiles) {
  std::string name;
  for (int i = 0; i < subfiles; ++i)
    name +=
        std::string(sfio_listener_name(i % sfio_listeners())) + "," + path + "." + std::to_string(i) + ";";
  return name;
}

std::string subfile(const std::string& path, int i) {
  return root() + "/" + sfio_listener_name(i % sfio_listeners()) + path + "." + std::to_string(i);
}

std::string contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void paper_figure_four() {
  const std::string name = name_of("/fig4", 2);
  MFILE* f = mopen(name.c_str(), 5);
  REQUIRE(f != nullptr);
  char text[] = "Hello*World!*";
  if (me < 3) mwritec(f, 13 * me, text, 13);
  for (int missing = size; me == 0 && missing < 3; ++missing) mwritec(f, 13 * missing, text, 13);
  mclose(f);
  REQUIRE(contents(subfile("/fig4", 0)) == "Hellod!*Heorld!o*Wor");
  REQUIRE(contents(subfile("/fig4", 1)) == "*Worlllo*W*Hellld!*");
  barrier();
  mdelete(name.c_str());
  REQUIRE(access(subfile("/fig4", 0).c_str(), F_OK) != 0);
  REQUIRE(access((subfile("/fig4", 1) + ".sfio").c_str(), F_OK) != 0);
}

std::vector<char> content(int task, size_t bytes) {
  std::vector<char> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(17 * task + 3 * i + i / 251);
  return data;
}

// Every task writes a range in one way, and reads its neighbour's range in every way.
void all_ways(int unit, int subfiles, size_t bytes) {
  for (int way = 0; way < 4; ++way) {
    const std::string name = name_of("/ways", subfiles);
    MFILE* f = mopen(name.c_str(), unit);
    REQUIRE(f != nullptr);
    const auto mine = content(me, bytes);
    const auto at = static_cast<int64_t>(bytes) * me;
    const size_t half = bytes / 2;
    const int64_t offsets[] = {at + static_cast<int64_t>(half), at};
    const size_t sizes[] = {bytes - half, half};
    if (way == 0) REQUIRE(sfio_mwrite(f, at, mine.data(), bytes) == static_cast<int64_t>(bytes));
    if (way == 1) REQUIRE(sfio_mwritec(f, at, mine.data(), bytes) == static_cast<int64_t>(bytes));
    if (way == 2) {
      const void* buffers[] = {mine.data() + half, mine.data()};
      REQUIRE(sfio_mwriteb(f, 2, offsets, buffers, sizes) == static_cast<int64_t>(bytes));
    }
    if (way == 3) {
      sfio_request* first = nullptr;
      sfio_request* second = nullptr;
      REQUIRE(sfio_iwritec(f, offsets[0], mine.data() + half, sizes[0], &first) == 0);
      REQUIRE(sfio_iwritec(f, offsets[1], mine.data(), sizes[1], &second) == 0);
      int done = 0;
      while (!done) REQUIRE(sfio_test(second, &done) == 0);
      REQUIRE(sfio_wait(&second) == static_cast<int64_t>(half) && second == nullptr);
      REQUIRE(sfio_wait(&first) == static_cast<int64_t>(bytes - half));
      REQUIRE(sfio_wait(&first) == 0);
    }
    barrier();
    const int next = (me + 1) % size;
    const auto expected = content(next, bytes);
    const auto from = static_cast<int64_t>(bytes) * next;
    std::vector<char> found(bytes);
    REQUIRE(sfio_mread(f, from, found.data(), bytes) == static_cast<int64_t>(bytes) && found == expected);
    found.assign(bytes, 0);
    REQUIRE(sfio_mreadc(f, from, found.data(), bytes) == static_cast<int64_t>(bytes) && found == expected);
    found.assign(bytes, 0);
    const int64_t from_both[] = {from + static_cast<int64_t>(half), from};
    void* buffers[] = {found.data() + half, found.data()};
    REQUIRE(sfio_mreadb(f, 2, from_both, buffers, sizes) == static_cast<int64_t>(bytes) && found == expected);
    found.assign(bytes, 0);
    sfio_request* reading = nullptr;
    REQUIRE(sfio_ireadb(f, 2, from_both, buffers, sizes, &reading) == 0);
    REQUIRE(sfio_wait(&reading) == static_cast<int64_t>(bytes) && found == expected);
    sfio_stat_t stat;
    REQUIRE(mstat(f, &stat) == 0);
    REQUIRE(stat.size == static_cast<int64_t>(bytes) * size && stat.stripe_unit == unit &&
            stat.subfiles == subfiles);
    // Reads at the end of the file.
    found.assign(bytes, 'x');
    REQUIRE(sfio_mreadc(f, stat.size - 3, found.data(), bytes) ==
            (bytes < 3 ? static_cast<int64_t>(bytes) : 3));
    barrier();
    mclose(f);
    mdelete(name.c_str());
  }
}

void one_message_per_listener() {
  const std::string name = name_of("/count", sfio_listeners());
  MFILE* f = mopen(name.c_str(), 200);
  const auto data = content(me, 900);
  int64_t before = 0, after = 0;
  sfio_traffic(&before, nullptr);
  mwritec(f, 900L * me, data.data(), 900);
  sfio_traffic(&after, nullptr);
  REQUIRE(after - before == sfio_listeners());
  mclose(f);
  mdelete(name.c_str());
}

// Tests memory that local listeners map. `early` is memory that was allocated before the session.
void lent_memory(char* early) {
  constexpr int64_t bytes = 1 << 20;
  // Small buffers make small pieces, which travel in messages
  const int64_t lent = std::getenv("SHEAF_SFIO_BUFFER") ? 0 : bytes;
  const std::string name = name_of("/lent", sfio_listeners());
  MFILE* f = mopen(name.c_str(), 64 << 10);
  REQUIRE(f != nullptr);
  auto* const late = static_cast<char*>(sfio_malloc(bytes));
  REQUIRE(late != nullptr && late[0] == 0 && late[bytes - 1] == 0);
  const auto data = content(me, bytes);
  std::copy(data.begin(), data.end(), early);
  int64_t before = sfio_lent_bytes();
  REQUIRE(sfio_mwritec(f, bytes * me, early, bytes) == bytes);
  REQUIRE(sfio_lent_bytes() - before == lent);
  REQUIRE(sfio_mreadc(f, bytes * me, late, bytes) == bytes);
  REQUIRE(sfio_lent_bytes() - before == 2 * lent);
  REQUIRE(std::equal(data.begin(), data.end(), late));
  REQUIRE(sfio_free(late) == 0 && sfio_free(nullptr) == 0);
  before = sfio_lent_bytes();
  REQUIRE(sfio_mwritec(f, bytes * me, data.data(), bytes) == bytes);
  REQUIRE(sfio_lent_bytes() == before);
  sheaf_print_errors(0);
  REQUIRE(sfio_free(early + 1) == -1);
  REQUIRE(sfio_malloc(SIZE_MAX) == nullptr);
  sheaf_print_errors(1);
  mclose(f);
  mdelete(name.c_str());
}

void sizes_and_creation() {
  const std::string name = name_of("/sizes", 3);
  REQUIRE(sfio_mcreate(name.c_str()) == 0);
  MFILE* f = mopen(name.c_str(), 7);
  REQUIRE(f != nullptr);
  sfio_stat_t stat;
  REQUIRE(sfio_mstat(f, &stat) == 0 && stat.size == 0 && stat.stripe_unit == 7);
  barrier();
  mchsize(f, 1000);
  REQUIRE(sfio_mstat(f, &stat) == 0 && stat.size == 1000);
  barrier();
  mchsize(f, 10);
  char bytes[20];
  REQUIRE(sfio_mreadc(f, 0, bytes, 20) == 10 && bytes[9] == 0);
  barrier();
  mclose(f);
  f = mopen(name.c_str(), 0);
  REQUIRE(f != nullptr && sfio_mstat(f, &stat) == 0 && stat.stripe_unit == 7 && stat.size == 10);
  barrier();
  mclose(f);
  REQUIRE(sfio_mcreate(name.c_str()) == 0);
  f = mopen(name.c_str(), 9);
  REQUIRE(f != nullptr && sfio_mstat(f, &stat) == 0 && stat.stripe_unit == 9 && stat.size == 0);
  barrier();
  mclose(f);
  REQUIRE(sfio_mdelete(name.c_str()) == 0);
}

bool says(const char* part) { return std::strstr(sheaf_last_error(), part) != nullptr; }

void errors() {
  const int printing = sheaf_print_errors(0);
  REQUIRE(sfio_mopen(nullptr, 5) == nullptr);
  REQUIRE(sfio_mopen("nonsense", 5) == nullptr && says("nonsense") && errno == EINVAL);
  REQUIRE(sfio_mopen("nowhere,/a;", 5) == nullptr && says("nowhere"));
  REQUIRE(sfio_mdelete(name_of("/missing", 2).c_str()) == -1 && says("/missing"));
  if (size > 1)
    REQUIRE(sfio_mopen(name_of("/disagree", 2).c_str(), 5 + me % 2) == nullptr && says("disagree"));

  const std::string name = name_of("/errors", 2);
  MFILE* f = sfio_mopen(name.c_str(), 5);
  REQUIRE(f != nullptr);
  REQUIRE(sfio_mwritec(f, -4, "abc", 3) == -1);
  REQUIRE(sfio_mwritec(f, 4, nullptr, 3) == -1);
  REQUIRE(sfio_mwritec(nullptr, 4, "abc", 3) == -1);
  REQUIRE(sfio_mwritec(f, 0, "0123456789", 10) == 10);
  REQUIRE(sfio_mclose(f) == 0);
  REQUIRE(sfio_mopen(name.c_str(), 6) == nullptr && says("stripe unit of 5 bytes, not 6") &&
          says("/errors.0"));
  const std::string other = subfile("/errors", 1);
  barrier();
  if (me == 0) REQUIRE(truncate(other.c_str(), 2) == 0);
  barrier();
  REQUIRE(sfio_mopen(name.c_str(), 5) == nullptr && says("short") && says("/errors.1"));
  REQUIRE(says(sfio_listener_name(1 % sfio_listeners())));
  barrier();
  if (me == 0) REQUIRE(unlink(other.c_str()) == 0);
  barrier();
  REQUIRE(sfio_mopen(name.c_str(), 5) == nullptr && says("missing") && says("/errors.1"));
  REQUIRE(sfio_mdelete(name.c_str()) == 0);

  // The directory is missing: creat fails at the listener and is counted there.
  unsigned long counts[SFIO_ERRORS];
  REQUIRE(sfio_merrora(counts) == 0);
  REQUIRE(sfio_mopen(name_of("/no/such/directory/f", 2).c_str(), 5) == nullptr && errno == ENOENT);
  REQUIRE(sfio_merrora(counts) == 0);
  REQUIRE(counts[SFIO_CREAT] == 1 && counts[SFIO_READ] == 0 && counts[SFIO_LSEEK] == 0);
  merrora(counts);
  for (const unsigned long count : counts) REQUIRE(count == 0);
  prioerrora();
  sheaf_print_errors(printing);
}

// A call that fails without an error at a listener must count: at its task, or once if all reject it.
void refused_calls() {
  const int printing = sheaf_print_errors(0);
  const auto all = static_cast<unsigned long>(size);
  unsigned long counts[SFIO_ERRORS];
  const auto counted = [&](std::vector<unsigned long> expected) {
    return std::equal(expected.begin(), expected.end(), counts, counts + SFIO_ERRORS);
  };
  REQUIRE(sfio_merrora(counts) == 0);
  const std::string name = name_of("/refused", 2), missing = name_of("/missing", 2);
  MFILE* f = sfio_mopen(name.c_str(), 5);
  REQUIRE(f != nullptr);

  // Local calls.
  const int64_t at = 0;
  const size_t four = 4;
  char text[] = "four";
  void* none = nullptr;
  int done = 0;
  sfio_stat_t stat;
  sfio_request* request = nullptr;
  REQUIRE(sfio_mwrite(nullptr, 0, text, 4) == -1);
  REQUIRE(sfio_mwritec(f, -4, text, 4) == -1);
  REQUIRE(sfio_mwriteb(f, 1, &at, &none, &four) == -1);
  REQUIRE(sfio_iwritec(f, 0, nullptr, 4, &request) == -1);
  REQUIRE(sfio_iwritec(f, 0, text, 4, nullptr) == -1);
  REQUIRE(sfio_mread(nullptr, 0, text, 4) == -1);
  REQUIRE(sfio_mreadb(f, 1, nullptr, &none, &four) == -1);
  REQUIRE(sfio_ireadc(f, 0, nullptr, 4, &request) == -1);
  REQUIRE(sfio_test(nullptr, &done) == -1);
  REQUIRE(sfio_mstat(nullptr, &stat) == -1 && sfio_mstat(f, nullptr) == -1);
  REQUIRE(sfio_merror(counts) == 0 && counted({0, 0, 0, 0, 0, 0, 5, 6}));
  REQUIRE(sfio_merror(counts) == 0 && counted({0, 0, 0, 0, 0, 0, 0, 0}));
  barrier();

  // Collective calls, of which each counts once.
  REQUIRE(sfio_mopen(nullptr, 5) == nullptr && sfio_mopen("nonsense", 5) == nullptr);
  REQUIRE(sfio_mopen("nowhere,/a;", 5) == nullptr && sfio_mopen(name.c_str(), -5) == nullptr);
  REQUIRE(sfio_mopen(name.c_str(), 6) == nullptr);  // the file has another stripe unit
  REQUIRE(sfio_mcreate(nullptr) == -1 && sfio_mdelete(nullptr) == -1 && sfio_mdelete(missing.c_str()) == -1);
  REQUIRE(sfio_mchsize(f, -1) == -1);
  REQUIRE(sfio_mwritec_all(f, 4 * me, me == 0 ? nullptr : text, 4) == -1);
  REQUIRE(sfio_mwritec_all(f, 4 * me, text, 4) == 4);  // without these bytes the close would fail
  REQUIRE(sfio_mreadc_all(f, -4, text, 4) == -1);
  const unsigned long differs = size > 1 ? 1 : 0;
  if (size > 1) REQUIRE(sfio_mopen(name.c_str(), 5 + me % 2) == nullptr && says("disagree"));
  REQUIRE(sfio_merrora(counts) == 0 && counted({5 + differs, 0, 1, 2, 1, 0, 1, 1}));

  // Calls on a closed file.
  REQUIRE(sfio_mclose(f) == 0);
  REQUIRE(sfio_mclose(f) == -1 && says("closed") && sfio_mclose(nullptr) == -1);
  REQUIRE(sfio_mwritec(f, 0, text, 4) == -1 && says("closed") && errno == EINVAL);
  REQUIRE(sfio_mreadc(f, 0, text, 4) == -1 && sfio_mchsize(f, 5) == -1);
  REQUIRE(sfio_merrora(counts) == 0 && counted({0, 2 * all, 0, 0, all, 0, all, all}));
  REQUIRE(sfio_merrora(counts) == 0 && counted({0, 0, 0, 0, 0, 0, 0, 0}));
  REQUIRE(sfio_mdelete(name.c_str()) == 0);
  sheaf_print_errors(printing);
}

// A close must complete pending transfers, and sfio_wait() must return their outcome.
void closed_under_way() {
  const std::string name = name_of("/under-way", 2);
  MFILE* f = sfio_mopen(name.c_str(), 1000);
  std::string text(3'000'000, static_cast<char>('a' + me));
  sfio_request* request = nullptr;
  REQUIRE(sfio_iwritec(f, me * 3'000'000, text.data(), text.size(), &request) == 0);
  REQUIRE(sfio_mclose(f) == 0);
  REQUIRE(sfio_wait(&request) == 3'000'000);
  f = sfio_mopen(name.c_str(), 0);
  std::string found(4'000'000, '?');
  REQUIRE(sfio_ireadc(f, me * 3'000'000, found.data(), found.size(), &request) == 0);
  REQUIRE(sfio_mclose(f) == 0);
  REQUIRE(sfio_wait(&request) == (me + 1 < size ? 4'000'000 : 3'000'000));
  REQUIRE(found.compare(0, text.size(), text) == 0);
  REQUIRE(sfio_mdelete(name.c_str()) == 0);
}

void random_blocks() {
  std::mt19937 random(11);
  const std::string name = name_of("/random", 5);
  MFILE* f = mopen(name.c_str(), 13);
  std::vector<char> model(3000);
  for (int round = 0; round < 30; ++round) {
    const auto count = static_cast<unsigned>(random() % 5);
    std::vector<std::vector<char>> data;
    std::vector<long> offsets;
    std::vector<unsigned> sizes;
    std::vector<char*> buffers;
    for (unsigned i = 0; i < count; ++i) {
      data.push_back(content(static_cast<int>(random() % 100), random() % 400));
      offsets.push_back(random() % 2500);
    }
    for (unsigned i = 0; i < count; ++i) {
      sizes.push_back(static_cast<unsigned>(data[i].size()));
      buffers.push_back(data[i].data());
      std::copy(data[i].begin(), data[i].end(), model.begin() + offsets[i]);
    }
    if (round % size == me) mwriteb(f, count, offsets.data(), buffers.data(), sizes.data());
    barrier();
    std::vector<char> found(model.size());
    mreadc(f, 0, found.data(), 3000);
    REQUIRE(found == model);
    barrier();
  }
  mclose(f);
  mdelete(name.c_str());
}

// Transfers beyond 4 GiB, through both names of the calls, after a hole.
void far_offsets() {
  const std::string name = name_of("/far", 2);
  MFILE* f = mopen(name.c_str(), 200);
  REQUIRE(f != nullptr);
  const int64_t far = (int64_t{1} << 33) + 77 + 3000 * me;
  auto data = content(me, 3000);
  mwritec(f, far, data.data(), 1500);
  REQUIRE(sfio_mwritec(f, far + 1500, data.data() + 1500, 1500) == 1500);
  std::vector<char> found(3000);
  mreadc(f, far, found.data(), 3000);
  REQUIRE(found == data);
  barrier();
  sfio_stat_t stat;
  REQUIRE(mstat(f, &stat) == 0 && stat.size == (int64_t{1} << 33) + 77 + 3000 * size);
  REQUIRE(sfio_mreadc(f, int64_t{1} << 32, found.data(), 3000) == 3000 && found == std::vector<char>(3000));
  barrier();
  mclose(f);
  mdelete(name.c_str());
}

// The physical files of a multifile are striped files.
void multifile() {
  const std::string name = "sfio:unit=1000;" + name_of("/m.sion", sfio_listeners());
  for (const int wanted : {1, 2}) {
    int files = std::min(wanted, size);
    sion_int64 chunk = 10'000;
    sion_int32 block = 4096;
    int rank = me;
    MPI_Comm group = sfio_comm();
    auto mine = content(me, 25'000);
    int sid = sion_paropen_mpi(name.c_str(), "bw", &files, sfio_comm(), &group, &chunk, &block, &rank,
                               nullptr, nullptr);
    REQUIRE(sid >= 0);
    REQUIRE(sion_fwrite(mine.data(), 1, mine.size(), sid) == mine.size());
    REQUIRE(sion_parclose_mpi(sid) == SION_SUCCESS);
    group = sfio_comm();
    sid = sion_paropen_mpi(name.c_str(), "br", &files, sfio_comm(), &group, &chunk, &block, &rank, nullptr,
                           nullptr);
    REQUIRE(sid >= 0 && files == std::min(wanted, size));
    std::vector<char> found(mine.size());
    REQUIRE(sion_fread(found.data(), 1, found.size(), sid) == found.size() && found == mine);
    REQUIRE(sion_parclose_mpi(sid) == SION_SUCCESS);
    barrier();
    REQUIRE(access((subfile("/m.sion", 0) + ".sfio").c_str(), F_OK) == 0);
    barrier();
    mdelete(name.c_str());
    if (files > 1) mdelete((name + ".000001").c_str());
  }
}

void all_calls() {
  all_ways(200, sfio_listeners(), 100'003);
  all_ways(1, 3, 401);
  all_ways(70'000, 4, 700'001);
  one_message_per_listener();
  sizes_and_creation();
  errors();
  refused_calls();
  closed_under_way();
  random_blocks();
  far_offsets();
  multifile();
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm compute = MPI_COMM_NULL;
  auto* const early = static_cast<char*>(sfio_malloc(1 << 20));
  if (sfio_start(MPI_COMM_WORLD, nullptr, &compute) != 0) return 1;
  if (compute != MPI_COMM_NULL) {
    REQUIRE(compute == sfio_comm());
    MPI_Comm_rank(compute, &me);
    MPI_Comm_size(compute, &size);
    REQUIRE(sfio_listeners() > 0);
    if (me == 0)
      for (int i = 0; i < sfio_listeners(); ++i) mkdir((root() + "/" + sfio_listener_name(i)).c_str(), 0777);
    REQUIRE(!root().empty());
    if (std::getenv("SFIO_TEST_LEAVES")) REQUIRE(chdir("/") == 0);
    barrier();
    paper_figure_four();
    lent_memory(early);
    if (std::getenv("SFIO_TEST_NO_STOP") == nullptr) {
      all_calls();
      REQUIRE(sfio_stop() == 0);
      REQUIRE(sfio_comm() == MPI_COMM_NULL && sfio_listeners() == 0);
    }
    if (me == 0) std::puts("works");
  }
  REQUIRE(sfio_free(early) == 0);
  MPI_Finalize();
  return 0;
}
