// Tests the mapped calls under MPI. Returns 0 if all checks pass, else prints the failed one and aborts.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "sheaf.h"
#include "sion.h"
#include "support/multifile_model.hpp"

namespace {

using sheaf::test::content;

int me = 0;
int size = 1;
std::string directory;
const char* doing = "";

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "sion_mapped_test: rank %d of %d, %s: %s (%s)\n", me, size, doing, what.c_str(),
               sheaf_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

constexpr int tasks = 13;
int files = 3;
int place_file(int task) { return (task * 5) % files; }
// Returns the local rank of a task. The tasks of a file are in descending order, those of a single file in
// ascending order, because readers of a single file use the local rank as the task.
int place_lrank(int task) {
  int before = 0;
  for (int other = 0; other < tasks; ++other)
    before += place_file(other) == place_file(task) && (files == 1 ? other < task : other > task);
  return before;
}
sion_int64 length_of(int task) { return 40 + 61 * task; }

// The arguments of an open call.
struct MappedOpenCall {
  std::string file = directory + "/m";
  const char* mode = "wb";
  int nfiles = files;
  int count = 0;
  int* ranks = nullptr;
  sion_int64* chunks = nullptr;
  int* numbers = nullptr;
  int* lranks = nullptr;
  sion_int32 block = 64;
  FILE* stream = nullptr;
  bool wants_stream = false;

  MappedOpenCall() = default;
  MappedOpenCall(const MappedOpenCall&) = delete;
  MappedOpenCall& operator=(const MappedOpenCall&) = delete;
  ~MappedOpenCall() {
    std::free(ranks);
    std::free(chunks);
    std::free(numbers);
    std::free(lranks);
  }
  void add(int task) {
    const auto grow = [this](auto*& array, auto value) {
      using T = std::remove_reference_t<decltype(*array)>;
      array = static_cast<T*>(std::realloc(array, sizeof(T) * static_cast<size_t>(count + 1)));
      array[count] = static_cast<T>(value);
    };
    grow(ranks, task);
    grow(chunks, 100);
    grow(numbers, place_file(task));
    grow(lranks, place_lrank(task));
    ++count;
  }
  int operator()() {
    return sion_paropen_mapped_mpi(file.data(), mode, &nfiles, MPI_COMM_WORLD, &count, &ranks, &chunks,
                                   &numbers, &lranks, &block, wants_stream ? &stream : nullptr);
  }
};

void close(int sid) { require(sion_parclose_mapped_mpi(sid) == 1, "parclose"); }

// Every process writes the tasks t with t % size == me. It writes a piece of each of its tasks in turn.
void write_all(const char* mode, bool with_stream) {
  MappedOpenCall open;
  open.mode = mode;
  open.wants_stream = with_stream;
  for (int t = tasks; t-- > 0;)
    if (t % size == me) open.add(t);
  const int sid = open();
  require(sid >= 0, "open for writing");
  require(sion_is_serial_opened(sid) == 0 && sion_get_number_of_files(sid) == files, "facts");
  for (int round = 0; round < 4; ++round)
    for (int i = 0; i < open.count; ++i) {
      const int t = open.ranks[i];
      FILE* stream = nullptr;
      require(sion_seek_fp(sid, t, SION_CURRENT_BLK, SION_CURRENT_POS, with_stream ? &stream : nullptr) == 1,
              "select");
      require(sion_get_filenumber(sid) == place_file(t), "file of the task");
      const sion_int64 begin = length_of(t) * round / 4;
      const sion_int64 end = length_of(t) * (round + 1) / 4;
      for (sion_int64 at = begin; at < end;) {
        const auto n = std::min<sion_int64>(end - at, 50);
        const auto data = content(t, at, n);
        const auto bytes = static_cast<size_t>(n);
        if (with_stream && round % 2) {
          require(sion_ensure_free_space(sid, n) == 1 && fwrite(data.data(), 1, bytes, stream) == bytes,
                  "fwrite on the stream");
        } else {
          require(sion_fwrite(data.data(), 1, bytes, sid) == bytes, "fwrite");
        }
        at += n;
      }
      require(sion_get_bytes_written(sid) == end, "bytes written");
    }
  require(sion_seek(sid, tasks, SION_CURRENT_BLK, SION_CURRENT_POS) == 0, "no such task");
  close(sid);
  require(sion_parclose_mapped_mpi(sid) == -1, "closed twice");
}

void check_task(int sid, int task, bool with_stream) {
  const auto expected = content(task, 0, length_of(task));
  std::vector<std::byte> found;
  if (with_stream) {
    FILE* stream = nullptr;
    require(sion_seek_fp(sid, task, 0, 0, &stream) == 1 && stream, "stream of the task");
    while (!sion_feof(sid)) {
      const auto n = static_cast<size_t>(sion_bytes_avail_in_block(sid));
      const size_t before = found.size();
      found.resize(before + n);
      require(fread(found.data() + before, 1, n, stream) == n, "fread on the stream");
    }
  } else {
    require(sion_seek(sid, task, 0, 0) == 1, "seek");
    found.resize(expected.size() + 10);
    found.resize(sion_fread(found.data(), 1, found.size(), sid));
  }
  require(found == expected, "contents of task " + std::to_string(task));
  require(sion_feof(sid) == 1 && sion_get_bytes_read(sid) == length_of(task), "end");
}

void read_automatically(const char* mode, bool with_stream) {
  MappedOpenCall open;
  open.mode = mode;
  open.count = -1;
  open.nfiles = -5;
  const int sid = open();
  require(sid >= 0, "open for reading");
  const int each = tasks / size;
  const int first = each * me + std::min(tasks % size, me);
  require(open.nfiles == files && open.block == 64, "number of files and block size");
  require(open.count == each + (me < tasks % size ? 1 : 0), "an even share of the tasks");
  for (int i = 0; i < open.count; ++i) {
    const int t = first + i;
    require(open.ranks[i] == t && open.numbers[i] == place_file(t) && open.lranks[i] == place_lrank(t) &&
                open.chunks[i] == 128,
            "arrays");
    check_task(sid, t, with_stream);
  }
  int pairs = 0;
  int nfiles = 0;
  sion_int32* mapping = nullptr;
  require(sion_get_mapping(sid, &pairs, &mapping, &nfiles) == 1 && pairs == tasks && nfiles == files,
          "mapping");
  for (int t = 0; t < tasks; ++t)
    require(mapping[2 * t] == place_file(t) && mapping[2 * t + 1] == place_lrank(t), "entry of the mapping");
  int n = 0;
  require(sion_get_locations(sid, &n, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == 1 &&
              n == tasks,
          "locations");
  close(sid);
}

void read_lists() {
  MappedOpenCall open;
  open.mode = "rb";
  for (int k = 0; k < me % 4; ++k) open.add((3 * me + 2 * k) % tasks);  // overlapping; none on process 0
  const int sid = open();
  require(sid >= 0, "open for reading");
  for (int i = 0; i < open.count; ++i) check_task(sid, open.ranks[i], false);
  for (int t = 0; t < tasks; ++t)
    if (std::find(open.ranks, open.ranks + open.count, t) == open.ranks + open.count)
      require(sion_seek(sid, t, 0, 0) == 0, "a task of another process");
  close(sid);
}

void write_and_read() {
  for (const int f : {1, 2, 3}) {
    files = f;
    for (const char* mode : {"wb", "wb,posix", "wb,buffer=0", "wb,durable"})
      for (const bool with_stream : {false, true}) {
        if (with_stream && std::string(mode) == "wb,posix") continue;
        write_all(mode, with_stream);
        read_automatically("rb", with_stream);
      }
    read_lists();
    if (me == 0) {
      int n = 0;
      const int sid =
          sion_open((directory + "/m").data(), "rb", &n, nullptr, nullptr, nullptr, nullptr, nullptr);
      require(sid >= 0 && n == tasks, "serial open");
      for (int t = 0; t < tasks; ++t) check_task(sid, t, false);
      sion_close(sid);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void bad_arguments_on_one_rank() {
  const int last = size - 1;
  for (int what = 0; what < 9; ++what) {
    MappedOpenCall open;
    open.nfiles = files;
    for (int t = 0; t < tasks; ++t)
      if (t % size == me) open.add(t);
    if (me == last || what == 0) {
      if (what == 0) open.nfiles = 0;
      if (what == 1) open.numbers[0] = files;
      if (what == 2) open.lranks[0] = 99;
      if (what == 3) open.ranks[0] = open.ranks[0] == 1 ? 2 : 1;
      if (what == 4) open.chunks[0] = -1;
      if (what == 5) open.count = -1;
      if (what == 6) open.block = 128;
      if (what == 7) open.mode = "r";
      if (what == 8) open.file += "/nowhere/x";
    }
    const bool agreed = size == 1 && (what == 6 || what == 7);
    const int sid = open();
    require((sid >= 0) == agreed, "bad argument " + std::to_string(what));
    if (sid >= 0) close(sid);
    if (open.count < 0) open.count = 0;
  }
  MappedOpenCall null;
  require(sion_paropen_mapped_mpi(null.file.data(), "wb", nullptr, MPI_COMM_WORLD, &null.count, &null.ranks,
                                  &null.chunks, &null.numbers, &null.lranks, &null.block, nullptr) == -1,
          "numFiles NULL");
  require(sion_parclose_mapped_mpi(-1) == -1, "invalid handle");
}

void the_other_closes_refuse() {
  MappedOpenCall open;
  open.mode = "rb";
  open.count = -1;
  const int sid = open();
  require(sid >= 0, "open");
  require(sion_close(sid) == 0, "sion_close refuses");
  close(sid);
}

// Duplicates of mapped and of parallel handles must read independently of the original.
void duplicates() {
  files = 3;
  write_all("wb", false);
  MappedOpenCall open;
  open.mode = "rb";
  open.count = -1;
  const int sid = open();
  const int one = open.ranks[open.count - 1];
  require(sion_seek(sid, one, 0, 10) == 1, "seek");
  const int all = sion_dup(sid, SION_DUP_ALL, 0, 0);
  const int single = sion_dup(sid, SION_DUP_RANK, one, 0);
  require(all >= 0 && single >= 0 && all != single, "duplicate");
  require(sion_get_bytes_read(all) == 10 && sion_get_bytes_read(single) == 10,
          "a duplicate stands where the original does");
  for (int i = 0; i < open.count; ++i) check_task(all, open.ranks[i], i % 2 == 1);
  check_task(single, one, false);
  for (int t = 0; t < tasks; ++t)
    require((sion_seek(single, t, 0, 0) == 1) == (t == one), "tasks of a duplicate");
  require(sion_get_bytes_read(sid) == 10, "the original stays");
  require(sion_dup(-1, SION_DUP_ALL, 0, 0) == -1, "no such handle");
  for (const int rank_given : {tasks, -1, SION_CURRENT_RANK}) {  // no task of this process
    const int current = sion_dup(sid, SION_DUP_RANK, rank_given, 0);
    require(current >= 0 && sion_get_bytes_read(current) == 10, "a duplicate stays at the current task");
    check_task(current, one, false);
    require(sion_dedup(current) == 1, "release");
  }
  require(sion_dup(all, SION_DUP_ALL, 0, 0) == -1, "a duplicate of a duplicate");
  require(sion_dedup(sid) == 0 && sion_dedup(-1) == -1, "no duplicate");
  require(sion_parclose_mapped_mpi(all) == 0 && sion_parclose_mpi(all) == 0 && sion_close(all) == 0,
          "the closes refuse it");
  require(sion_dedup(all) == 1 && sion_dedup(single) == 1 && sion_dedup(single) == -1, "release");
  check_task(sid, one, false);
  close(sid);

  int nfiles = 1;
  sion_int64 chunk = 64;
  sion_int32 block = 64;
  int rank = 0;
  const MPI_Comm none = MPI_COMM_NULL;
  const std::string plain = directory + "/p";
  const auto parallel = [&](const char* mode) {
    return sion_paropen_mpi(plain.c_str(), mode, &nfiles, MPI_COMM_WORLD, &none, &chunk, &block, &rank,
                            nullptr, nullptr);
  };
  const int out = parallel("wb");
  const auto data = content(me, 0, length_of(me));
  require(sion_fwrite(data.data(), 1, data.size(), out) == data.size(), "write");
  require(sion_dup(out, SION_DUP_ALL, 0, 0) == -1, "of a handle that writes");
  require(sion_parclose_mpi(out) == 1, "close");
  const int in = parallel("rb");
  for (const int rank_given :
       {me, me + 1, -1, SION_CURRENT_RANK}) {  // only one task exists, whatever rank is requested
    const int copy = sion_dup(in, SION_DUP_RANK, rank_given, 0);
    check_task(copy, me, false);
    require(sion_dedup(copy) == 1, "release");
  }
  check_task(in, me, false);
  require(sion_parclose_mpi(in) == 1, "close");
}

// Writes a multifile in parallel. Then appends to it in parallel, by a mapped open in which the last rank has
// all tasks, and serially.
void append() {
  int nfiles = size > 1 ? 2 : 1;
  sion_int64 chunk = 64;
  sion_int32 block = 64;
  int rank = 0;
  const MPI_Comm none = MPI_COMM_NULL;
  std::string plain = directory + "/append";
  const auto parallel = [&](const char* mode) {
    return sion_paropen_mpi(plain.c_str(), mode, &nfiles, MPI_COMM_WORLD, &none, &chunk, &block, &rank,
                            nullptr, nullptr);
  };
  sion_int64 done = 0;
  const auto write_more = [&](int sid, int task, sion_int64 from) {
    const auto data = content(task, from, 50);
    require(sion_get_bytes_written(sid) == from, "stands at the end");
    require(sion_fwrite(data.data(), 1, data.size(), sid) == data.size(), "write");
  };
  for (const char* mode : {"wb", "append", "a,posix", "wb,append,buffer=0"}) {
    if (done > 0) nfiles = -3 - me, chunk = -1, block = me;
    const int sid = parallel(mode);
    require(sid >= 0 && nfiles == (size > 1 ? 2 : 1) && chunk == 64 && block == 64 && rank == me,
            "parallel open");
    write_more(sid, me, done);
    require(sion_parclose_mpi(sid) == 1, "close");
    done += 50;
  }
  MappedOpenCall open;
  open.file = plain;
  open.mode = "append";
  open.nfiles = -1;
  for (int t = 0; t < size && me == size - 1; ++t) open.add(t);
  const int sid = open();
  require(sid >= 0 && open.nfiles == nfiles, "mapped open");
  for (int i = 0; i < open.count; ++i) {
    require(sion_seek(sid, i, SION_CURRENT_BLK, SION_CURRENT_POS) == 1, "select");
    write_more(sid, i, done);
  }
  close(sid);
  done += 50;
  if (me == 0) {
    int n = 0;
    FILE* stream = nullptr;
    const int serial = sion_open(plain.data(), "append", &n, nullptr, nullptr, nullptr, nullptr, &stream);
    require(serial >= 0 && n == size && stream && sion_is_serial_opened(serial) == 1, "serial open");
    for (int t = 0; t < n; ++t) {
      require(sion_seek_fp(serial, t, SION_CURRENT_BLK, SION_CURRENT_POS, &stream) == 1, "select");
      const auto data = content(t, done, 50);
      require(sion_ensure_free_space(serial, 50) == 1 && fwrite(data.data(), 1, 50, stream) == 50, "fwrite");
    }
    require(sion_close(serial) == 1, "serial close");
  }
  done += 50;
  MPI_Barrier(MPI_COMM_WORLD);
  const int in = parallel("rb");
  const auto data = content(me, 0, done);
  std::vector<std::byte> found(data.size() + 1);
  require(sion_fread(found.data(), 1, found.size(), in) == data.size(), "length read");
  found.resize(data.size());
  require(found == data && sion_parclose_mpi(in) == 1, "bytes read");
  if (size > 1) {
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, me == 0, 0, &part);
    const int bad = sion_paropen_mpi(plain.c_str(), "append", &nfiles, part, &none, &chunk, &block, &rank,
                                     nullptr, nullptr);
    require(bad == -1, "another number of tasks");
    MPI_Comm_free(&part);
  }
}

void run(const char* name, void (*test)()) {
  doing = name;
  MPI_Barrier(MPI_COMM_WORLD);
  test();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[200] = "/tmp/sheaf_mapped_XXXXXX";
  if (me == 0 && !mkdtemp(name)) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  directory = name;
  sheaf_print_errors(0);
#define RUN(test) run(#test, test)
  RUN(write_and_read);
  RUN(the_other_closes_refuse);
  RUN(duplicates);
  RUN(append);
  RUN(bad_arguments_on_one_rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) std::filesystem::remove_all(directory);
  MPI_Finalize();
  return 0;
}
