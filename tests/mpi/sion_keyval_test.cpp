// Tests key-value records under a real MPI. Every task reads its records by key, and duplicates of a handle
// must have their own positions. Returns 0 if all checks pass, and otherwise prints the failed check and
// aborts.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "sheaf.h"
#include "sion.h"

namespace {

int me = 0;
int size = 1;

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "sion_keyval_test: rank %d of %d: %s (%s)\n", me, size, what.c_str(),
               sheaf_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int open(const std::string& file, const char* mode, int files) {
  sion_int64 chunk = 30;
  sion_int32 block = 1;
  MPI_Comm group = MPI_COMM_WORLD;
  const int sid = sion_paropen_mpi(file.c_str(), mode, &files, MPI_COMM_WORLD, &group, &chunk, &block,
                                   nullptr, nullptr, nullptr);
  require(sid >= 0, std::string("open ") + mode);
  return sid;
}

// Returns the key of the i-th record of a task.
uint64_t key_of(int i) { return i % 3 == 0 ? UINT64_MAX : static_cast<uint64_t>(i % 3); }
std::string value_of(int task, int i) {
  return std::string(static_cast<size_t>(i * 7 % 40), static_cast<char>('a' + (task + i) % 26));
}
std::string all_of(int task, uint64_t key, int count) {
  std::string joined;
  for (int i = 0; i < count; ++i)
    if (key_of(i) == key) joined += value_of(task, i);
  return joined;
}

std::string rest_of(int sid, uint64_t key) {
  std::string joined;
  std::string piece(16, '?');
  while (const size_t n = sion_fread_key(piece.data(), key, 1, piece.size(), sid)) joined.append(piece, 0, n);
  return joined;
}

constexpr uint64_t keys[] = {1, 2, UINT64_MAX};

// A duplicate must know the keys of the original. If it was created for one key, it must know no other key.
void duplicates(int sid, int count) {
  char first;
  require(sion_fread_key(&first, 2, 1, 1, sid) == 1, "first byte");
  require(sion_key_full_scan(sid) == 1, "scan");
  const int all = sion_dup(sid, SION_DUP_ALL, me, 0);
  const int one = sion_dup(sid, SION_DUP_RANK_KEY, me, 2);
  require(all >= 0 && one >= 0, "duplicate");
  uint64_t key = 0;
  size_t length = 0;
  sion_key_stat_t stat;
  require(sion_key_get_stat(all, 1, &stat) == 1 && sion_key_get_stat(one, 1, &stat) == 0,
          "keys of a duplicate");
  require(
      sion_key_list_iterator_next(one, &key) == 1 && key == 2 && sion_key_list_iterator_next(one, &key) == 0,
      "the only key");
  int records = 0;
  while (sion_fread_key_iterator_next(one, &key, &length) == 1) records += key == 2 ? 1 : count;
  require(records == count / 3, "records of the only key");
  require(rest_of(one, 1).empty() && sion_seek_key(one, 1, SION_ABSOLUTE_POS, 0) == 0,
          "another key reads as absent");
  require(sion_seek_key(one, 2, SION_ABSOLUTE_POS, 0) == 1, "seek");
  for (const uint64_t k : keys)
    require(sion_seek_key(all, k, SION_ABSOLUTE_POS, 0) == 1 && rest_of(all, k) == all_of(me, k, count),
            "values in a duplicate");
  require(rest_of(one, 2) == all_of(me, 2, count), "values of the only key");
  require(rest_of(sid, 2) == all_of(me, 2, count).substr(1), "the original stays");
  require(sion_dedup(all) == 1 && sion_dedup(one) == 1, "release");
}

void write_and_read(const std::string& file, int files, const char* words) {
  const int count = 30;
  const int writer = open(file, (std::string("bw,keyval") + words).c_str(), files);
  for (int i = 0; i < count; ++i) {
    const std::string value = value_of(me, i);
    require(sion_fwrite_key(value.data(), key_of(i), 1, value.size(), writer) == value.size(), "write");
  }
  require(sion_parclose_mpi(writer) == 1, "close");
  const int reader = open(file, (std::string("br") + words).c_str(), files);
  require(sion_get_keyval_mode(reader) == SION_KEYVAL_INLINE, "mode");
  for (const uint64_t key : keys) require(rest_of(reader, key) == all_of(me, key, count), "values");
  require(sion_parclose_mpi(reader) == 1, "close");
  const int again = open(file, "br", files);
  duplicates(again, count);
  require(sion_parclose_mpi(again) == 1, "close");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[200] = "/tmp/sheaf_keyval_XXXXXX";
  if (me == 0 && !mkdtemp(name)) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  sheaf_print_errors(0);
  for (const char* words : {"", ",posix", ",buffer=0"})
    for (int files = 1; files <= size && files <= 2; ++files)
      write_and_read(std::string(name) + "/k", files, words);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) std::filesystem::remove_all(name);
  MPI_Finalize();
  return 0;
}
