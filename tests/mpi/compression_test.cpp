// Tests compressed multifiles under MPI: plain and collective calls, one file and several, programs that
// request a FILE*, appends, duplicates, and damage, which all ranks must report.
#include <fstream>

#include "mpi/sion_mpi_case.hpp"
#include "sion_mpi.h"

namespace {

using namespace sheaf::test;

constexpr const char* ways[] = {"wb,compress=zstd,frame=1k", "wb,compress=lz4,shuffle=8,compress_threads=2",
                                "wb,posix,compress=zstd:5", "wb,compress=gzip,frame=2k"};

void streams_in_one_file_and_in_several() {
  for (const char* way : ways)
    for (const int files : {1, size}) {
      ParallelOpenCall open;
      open.mode = way;
      open.files = files;
      write_all(open);
      require(read_back(path("a")) == files, "number of files");
    }
}

void collective_calls() {
  for (const char* way : ways)
    for (const int64_t bytes : {40, 5000, 200000}) {
      const std::string mode = std::string(way) + ",collective,collsize=2";
      const auto data = content(me, 0, 5 * bytes);
      ParallelOpenCall open;
      open.mode = mode.c_str();
      open.chunk = 2 * bytes;
      int sid = open();
      require(sid >= 0, "open for collective writing");
      for (int64_t at = 0; at < 5 * bytes; at += bytes)
        require(sion_coll_fwrite(&data[static_cast<size_t>(at)], 1, static_cast<size_t>(bytes), sid) ==
                    static_cast<size_t>(bytes),
                "coll_fwrite");
      sheaf::test::close(sid);
      ParallelOpenCall reading;
      reading.mode = "rb,collective";
      sid = reading();
      require(sid >= 0, "open for collective reading");
      std::vector<std::byte> found(data.size());
      require(sion_coll_fread(found.data(), 1, found.size(), sid) == found.size() && found == data,
              "coll_fread");
      require(sion_feof(sid) == 1, "end");
      sheaf::test::close(sid);
    }
}

void a_program_that_uses_its_stream() {
  FILE* stream = nullptr;
  ParallelOpenCall open;
  open.mode = ways[0];
  open.fileptr = &stream;
  int sid = open();
  require(sid >= 0 && stream, "open with a stream");
  const auto data = content(me, 0, 1000);
  require(sion_fwrite(data.data(), 1, 300, sid) == 300, "fwrite of the library");
  require(std::fwrite(&data[300], 1, 500, stream) == 500, "fwrite of the program");
  require(sion_fwrite(&data[800], 1, 200, sid) == 200, "fwrite of the library again");
  sheaf::test::close(sid);
  ParallelOpenCall reading;
  reading.mode = "rb";
  reading.fileptr = &stream;
  sid = reading();
  std::vector<std::byte> found(1000);
  require(std::fread(found.data(), 1, 400, stream) == 400, "fread of the program");
  require(sion_fread(&found[400], 1, 600, sid) == 600 && found == data, "fread of the library");
  require(sion_get_fd(sid) == -1, "no descriptor in ansi mode");
  sheaf::test::close(sid);
}

void appending() {
  ParallelOpenCall open;
  open.mode = ways[1];
  const auto data = content(me, 0, 3000);
  int sid = open();
  require(sion_fwrite(data.data(), 1, 1700, sid) == 1700, "first part");
  sheaf::test::close(sid);
  ParallelOpenCall more;
  more.mode = "ab,append";
  sid = more();
  require(sid >= 0, "open to append");
  require(sion_fwrite(&data[1700], 1, 1300, sid) == 1300, "second part");
  sheaf::test::close(sid);
  ParallelOpenCall reading;
  reading.mode = "rb";
  sid = reading();
  std::vector<std::byte> found(3001);
  require(sion_fread(found.data(), 1, found.size(), sid) == 3000, "length");
  found.resize(3000);
  require(found == data, "both parts");
  const int twin = sion_dup(sid, SION_DUP_ALL, 0, 0);
  require(twin >= 0 && sion_seek(twin, me, SION_ABSOLUTE_POS, 1690) == 1, "a duplicate");
  require(sion_fread(found.data(), 1, 20, twin) == 20 &&
              std::equal(found.begin(), found.begin() + 20, data.begin() + 1690),
          "read by it");
  require(sion_dedup(twin) == 1, "dedup");
  sheaf::test::close(sid);
}

// Flips a bit in the head of the first frame of the last task's stream.
void damage() {
  ParallelOpenCall open;
  open.mode = "wb,compress=zstd,frame=1k,checksums=off";
  open.chunk = 4096;
  open.block = 4096;
  const int sid = open();
  const auto data = content(me, 0, 9000);
  require(sion_fwrite(data.data(), 1, 9000, sid) == 9000, "write");
  sheaf::test::close(sid);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    std::fstream file(path("a"), std::ios::in | std::ios::out | std::ios::binary);
    const auto at = static_cast<std::streamoff>((1088 + 16 * size + 4095) / 4096 * 4096 + 4096 * (size - 1));
    file.seekp(at + 60);
    file.put('\x7f');
  }
  MPI_Barrier(MPI_COMM_WORLD);
  ParallelOpenCall reading;
  reading.mode = "rb";
  const int read = reading();
  require(read >= 0, "the index tells where the frames are");
  std::vector<std::byte> found(9000);
  const size_t got = sion_fread(found.data(), 1, 9000, read);
  require(me == size - 1 ? got == 0 && std::strstr(sheaf_last_error(), "task") : got == 9000 && found == data,
          "damage of one task");
  sheaf::test::close(read);
}

}  // namespace

int main(int argc, char** argv) {
  return run_all(argc, argv,
                 {{"streams", streams_in_one_file_and_in_several},
                  {"collective calls", collective_calls},
                  {"the program's stream", a_program_that_uses_its_stream},
                  {"appending", appending},
                  {"damage", damage}});
}
