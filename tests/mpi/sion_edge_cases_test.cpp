// Tests cases in which similar libraries have failed: empty chunks, thousands of blocks, names at the length
// limit, files that one task cannot read, mismatched communicators.
#include "mpi/sion_mpi_case.hpp"

namespace sheaf::test {
namespace {

void a_local_communicator_beyond_the_global_one() {
  if (size == 1) return;
  for (const int outside : {0, size - 1}) {
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, me == outside, 0, &part);
    if (me != outside) {
      ParallelOpenCall open;
      open.files = 0;
      open.global = part;
      open.local = MPI_COMM_WORLD;
      require(open() == -1 && !exists(open.file), "a local communicator that reaches beyond the global one");
    }
    MPI_Comm_free(&part);
  }
}

void local_communicators_that_overlap() {
  if (size < 3) return;
  MPI_Comm even, odd;  // {0,1} {2,3} ... and {0} {1,2} ...
  MPI_Comm_split(MPI_COMM_WORLD, me / 2, 0, &even);
  MPI_Comm_split(MPI_COMM_WORLD, (me + 1) / 2, 0, &odd);
  for (const int other : {0, 1, size - 1}) {
    ParallelOpenCall open;
    open.files = 0;
    open.local = me == other ? odd : even;
    MPI_Group mine, same;
    MPI_Comm_group(even, &mine);
    MPI_Comm_group(odd, &same);
    int compared = MPI_UNEQUAL;
    MPI_Group_compare(mine, same, &compared);
    MPI_Group_free(&mine);
    MPI_Group_free(&same);
    int fits = me != other || compared == MPI_IDENT;
    MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    const int sid = open();
    require((sid >= 0) == (fits != 0), "communicators of which one task has named another");
    if (sid >= 0) close(sid);
  }
  MPI_Comm_free(&even);
  MPI_Comm_free(&odd);
}

void chunk_sizes_that_are_all_0() {
  for (const int files : {1, size}) {
    for (const int block : {0, -1, 64}) {
      ParallelOpenCall open;
      open.files = files;
      open.chunk = 0;
      open.block = block;
      int sid = open();
      require(sid >= 0 && open.block > 0, "open with nothing but empty chunks");
      require(sion_fwrite("x", 1, 1, sid) == 0, "nothing fits");
      require(sion_ensure_free_space(sid, 1) == 0 && sion_ensure_free_space(sid, 0) == 1, "no space");
      require(sion_fwrite("x", 1, 0, sid) == 0 && sion_get_bytes_written(sid) == 0, "nothing is written");
      close(sid);
      ParallelOpenCall again;
      again.mode = "rb";
      sid = again();
      char byte;
      require(sid >= 0 && again.chunk == 0 && sion_feof(sid) == 1 && sion_fread(&byte, 1, 1, sid) == 0,
              "empty streams");
      close(sid);
    }
  }
}

struct MappedMultifile {
  std::string file = path("mapped");
  int files = 1;
  int block = 64;
  std::vector<int> ranks, filenumbers, places;
  std::vector<sion_int64> chunks;

  // Gives each process two tasks. Each file has consecutive tasks.
  explicit MappedMultifile(int nfiles, sion_int64 chunk) : files(nfiles) {
    const int each = 2 * size / files;
    for (int t = 2 * me; t < 2 * me + 2; ++t) {
      const int number = std::min(t / each, files - 1);
      ranks.push_back(t);
      chunks.push_back(chunk);
      filenumbers.push_back(number);
      places.push_back(t - number * each);
    }
  }
  int open(const char* mode) {
    int n = static_cast<int>(ranks.size());
    int *r = ranks.data(), *f = filenumbers.data(), *p = places.data();
    sion_int64* c = chunks.data();
    return sion_paropen_mapped_mpi(file.data(), mode, &files, MPI_COMM_WORLD, &n, &r, &c, &f, &p, &block,
                                   nullptr);
  }
};

void mapped_chunk_sizes_that_are_all_0() {
  for (const int block : {0, -1, 64}) {
    MappedMultifile m(std::min(size, 2), 0);
    m.block = block;
    int sid = m.open("wb");
    require(sid >= 0 && m.block > 0, "mapped open with nothing but empty chunks");
    for (const int t : m.ranks)
      require(sion_seek(sid, t, SION_CURRENT_BLK, SION_CURRENT_POS) == 1 && sion_fwrite("x", 1, 1, sid) == 0,
              "nothing fits");
    require(sion_parclose_mapped_mpi(sid) == 1, "close");
    sid = m.open("rb");
    require(sid >= 0 && m.chunks[0] == 0 && sion_seek(sid, m.ranks[1], 0, 0) == 1 && sion_feof(sid) == 1,
            "empty streams");
    require(sion_parclose_mapped_mpi(sid) == 1, "close");
  }
}

constexpr int many = 10'100;

void check_many(int sid, int task, int blocks) {
  std::vector<std::byte> found(many + 1);
  require(sion_fread(found.data(), 1, found.size(), sid) == static_cast<size_t>(blocks),
          "bytes of many blocks");
  found.resize(static_cast<size_t>(blocks));
  require(found == content(task, 0, blocks), "content of many blocks");
  int number = 0;
  require(sion_get_current_location(sid, nullptr, nullptr, &number, nullptr) == 1 &&
              number == std::max(blocks, 1),
          "blocks");
}

void many_blocks_of_the_last_task() {
  const auto blocks_of = [](int task) { return task == size - 1 ? many : task % 3; };
  for (const int files : {1, size}) {
    ParallelOpenCall open;
    open.files = files;
    open.chunk = open.block = 1;
    int sid = open();
    const auto data = content(me, 0, blocks_of(me));
    for (const std::byte& byte : data) require(sion_fwrite(&byte, 1, 1, sid) == 1, "a byte per chunk");
    close(sid);
    ParallelOpenCall again;
    again.mode = "rb";
    sid = again();
    check_many(sid, me, blocks_of(me));
    close(sid);
    // Reads each task alone, and then all tasks. Task 0 has fewer blocks than the others.
    for (int task = 0; task < size; ++task) {
      sid = sion_open_rank(open.file.data(), "rb", nullptr, nullptr, &task, nullptr);
      check_many(sid, task, blocks_of(task));
      require(sion_close(sid) == 1, "close of one task");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void many_blocks_of_a_mapped_task() {
  const auto blocks_of = [](int task) { return task == 2 * size - 1 ? many : task % 3; };
  for (const int files : {1, size}) {
    MappedMultifile m(files, 1);
    m.block = 1;
    int sid = m.open("wb");
    for (const int t : m.ranks) {
      require(sion_seek(sid, t, SION_CURRENT_BLK, SION_CURRENT_POS) == 1, "seek");
      for (const std::byte& byte : content(t, 0, blocks_of(t)))
        require(sion_fwrite(&byte, 1, 1, sid) == 1, "a byte per chunk");
    }
    require(sion_parclose_mapped_mpi(sid) == 1, "close");
    sid = m.open("rb");
    for (const int t : m.ranks) {
      require(sion_seek(sid, t, 0, 0) == 1, "seek");
      check_many(sid, t, blocks_of(t));
    }
    require(sion_parclose_mapped_mpi(sid) == 1, "close");
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// Returns a path of exactly `length` characters, and creates its directories.
std::string path_of_length(size_t length) {
  std::string name = directory;
  while (length - name.size() > 200) {
    name += "/" + std::string(100, 'd');
    if (me == 0) std::filesystem::create_directory(name);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return name + "/" + std::string(length - name.size() - 1, 'f');
}

void names_up_to_the_limit() {
  for (const size_t length : {1015u, 1016u, 1017u, 1023u, 1024u})
    for (const int files : {1, size}) {
      if (files == 1 && size > 1 && length < 1023) continue;
      ParallelOpenCall open;
      open.file = path_of_length(length);
      open.files = files;
      const bool fits = length <= (files == 1 ? 1023u : 1016u);
      const int sid = open();
      require((sid >= 0) == fits, "a name of " + std::to_string(length) + " characters");
      if (!fits) continue;
      write_stream(sid, me);
      close(sid);
      read_back(open.file);
      MappedMultifile m(1, 100);
      m.file = open.file;
      const int mapped = m.open("wb");
      require(mapped >= 0 && sion_parclose_mapped_mpi(mapped) == 1, "mapped");
    }
}

void a_file_that_one_task_cannot_read() {
  for (const bool directory_instead : {false, true})
    for (const int files : {size, (size + 1) / 2}) {
      fresh_directory();
      ParallelOpenCall set;
      set.files = files;
      write_all(set);
      MPI_Barrier(MPI_COMM_WORLD);
      const std::string lost = name_of(set.file, files - 1);
      if (me == 0) {
        std::filesystem::remove(lost);
        if (directory_instead) std::filesystem::create_directory(lost);
      }
      MPI_Barrier(MPI_COMM_WORLD);
      ParallelOpenCall again;
      again.mode = "rb";
      require(again() == -1, "a file that the last task cannot read");
      MappedMultifile m(files, 100);
      m.file = set.file;
      m.ranks = {me};
      require(m.open("rb") == -1, "mapped, every process its own task");
      if (files == 1) continue;
      int last = size - 1;
      require(sion_open_rank(set.file.data(), "rb", nullptr, nullptr, &last, nullptr) == -1, "alone");
      int first = 0;
      const int one = sion_open_rank(set.file.data(), "rb", nullptr, nullptr, &first, nullptr);
      read_stream(one, 0);
      require(sion_close(one) == 1, "a task whose file is there");
    }
}

void empty_records_at_the_end() {
  for (const sion_int64 chunk : {16, 24, 40, 1000}) {
    ParallelOpenCall open;
    open.mode = "wb,keyval";
    open.block = 8;
    open.chunk = chunk;
    int sid = open();
    require(sion_fwrite_key("value", 7, 1, 5, sid) == 5, "a record");
    require(sion_fwrite_key("value", 7, 0, 5, sid) == 0 && std::strstr(sheaf_last_error(), "size 0"),
            "items of size 0");
    for (uint64_t key = 7; key < 10; ++key)
      require(sion_fwrite_key("", key, 1, 0, sid) == 0, "an empty record");
    close(sid);
    open.mode = "rb";
    sid = open();
    uint64_t key = 0;
    size_t length = 9;
    require(sion_fread_key_iterator_next(sid, &key, &length) == 1 && key == 7 && length == 5, "the record");
    for (uint64_t k = 7; k < 10; ++k)
      require(sion_fread_key_iterator_next(sid, &key, &length) == 1 && key == k && length == 0,
              "the empty records");
    require(sion_fread_key_iterator_next(sid, &key, &length) == 0, "no more");
    char back[10];
    require(sion_fread_key(back, 7, 1, 10, sid) == 0 && sion_seek_key(sid, 7, 0, 0) == 1,
            "the iterator has gone to an empty record");
    require(sion_fread_key(back, 7, 1, 10, sid) == 5 && sion_fread_key(back, 9, 1, 1, sid) == 0, "values");
    sion_key_stat_t stat;
    require(sion_key_get_stat(sid, 7, &stat) == 1 && stat.num_blocks == 2 && stat.total_size == 5,
            "statistics");
    close(sid);
  }
}

}  // namespace
}  // namespace sheaf::test

int main(int argc, char** argv) {
  using namespace sheaf::test;
#define TEST(name) \
  { #name, name }
  return run_all(
      argc, argv,
      {TEST(a_local_communicator_beyond_the_global_one), TEST(local_communicators_that_overlap),
       TEST(chunk_sizes_that_are_all_0), TEST(mapped_chunk_sizes_that_are_all_0),
       TEST(many_blocks_of_the_last_task), TEST(many_blocks_of_a_mapped_task), TEST(names_up_to_the_limit),
       TEST(a_file_that_one_task_cannot_read), TEST(empty_records_at_the_end)});
}
