// Tests the FILE* of a program under a real MPI: a FILE* that writes through the library, a FILE* on the
// physical file to which the program writes beyond its chunk, and formatted output.
#include "mpi/sion_mpi_case.hpp"
#include "sion_mpi.h"

namespace {

using namespace sheaf::test;

std::string lines(int task, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(task) + " wrote line " + std::to_string(i) + "\n";
  return text;
}

// Returns the contents of each task's stream, read with the library.
std::string found_in(const char* mode = "rb") {
  ParallelOpenCall reading;
  reading.mode = mode;
  const int sid = reading();
  require(sid >= 0, "open for reading");
  std::string found(20000, ' ');
  found.resize(sion_fread(found.data(), 1, found.size(), sid));
  sheaf::test::close(sid);
  return found;
}

void streams_through_the_library() {
  for (const char* way :
       {"wb,fileptr=stream", "wb,fileptr=stream,compress=zstd", "wb,fileptr=stream,collective,collsize=2",
        "wb,fileptr=stream,durable,checksums=off"})
    for (const int files : {1, size}) {
      const std::string text = lines(me, 200);
      ParallelOpenCall open;
      FILE* stream = nullptr;
      open.mode = way;
      open.files = files;
      open.fileptr = &stream;
      const int sid = open();
      require(sid >= 0 && stream, "open with a stream");
      size_t at = 0;
      for (int i = 0; at < text.size(); ++i) {
        const std::string next = text.substr(at, text.find('\n', at) + 1 - at);
        const int printed =
            i % 2 == 0 ? std::fprintf(stream, "%s", next.c_str()) : sion_fprintf(sid, "%s", next.c_str());
        require(printed == static_cast<int>(next.size()), "printing a line");
        at += next.size();
      }
      sheaf::test::close(sid);
      require(found_in() == text, "what was printed");

      ParallelOpenCall reading;
      reading.mode = "rb,fileptr=stream";
      reading.fileptr = &stream;
      const int read = reading();
      require(read >= 0 && stream, "open for reading with a stream");
      std::string found;
      char next[100];
      while (std::fgets(next, sizeof next, stream)) found += next;
      require(found == text, "lines that are read");
      const int twin = sion_dup(read, SION_DUP_ALL, 0, 0);
      FILE* const its = sion_get_fp(twin);
      std::rewind(its);
      require(its && std::fgets(next, sizeof next, its) && text.starts_with(next),
              "the stream of a duplicate");
      require(sion_dedup(twin) == 1, "dedup");
      sheaf::test::close(read);
    }
}

// All tasks write far beyond their chunks at the same time. If the close succeeds, no data may be missing.
void lines_behind_the_chunk() {
  for (const char* way : {"wb", "wb,checksums=off", "wb,collective,collsize=2"})
    for (const int files : {1, size}) {
      const std::string text = lines(me, 300);
      ParallelOpenCall open;
      FILE* stream = nullptr;
      open.mode = way;
      open.files = files;
      open.chunk = 1024;
      open.fileptr = &stream;
      const int sid = open();
      require(sid >= 0 && stream, "open with a stream");
      require(std::fprintf(stream, "%s", text.c_str()) == static_cast<int>(text.size()), "printing");
      const int closed = sion_parclose_mpi(sid);
      int good = closed;
      MPI_Allreduce(&closed, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
      require(closed == good, "one outcome of the close");
      require(files < size || closed == 1, "a task with a file of its own loses nothing");
      const std::string found = found_in("rb,checksums=off");
      // Another task may overwrite data before the library moves them. Then the close must fail.
      require(found.size() <= text.size() && (closed == 0 || found.size() == text.size()),
              "every task can be read");
      require(closed == 0 || found == text, "a good close, and bytes are missing");
    }
}

void lines_where_nobody_else_writes() {
  const std::string text = me == size / 2 ? lines(me, 300) : "";
  ParallelOpenCall open;
  FILE* stream = nullptr;
  open.chunk = 1024;
  open.fileptr = &stream;
  const int sid = open();
  require(sid >= 0 && stream, "open with a stream");
  std::fprintf(stream, "%s", text.c_str());
  sheaf::test::close(sid);
  require(found_in() == text, "lines of one task");
}

void lines_over_those_of_a_neighbour() {
  ParallelOpenCall open;
  FILE* stream = nullptr;
  open.chunk = 1024;
  open.fileptr = &stream;
  const int sid = open();
  require(sid >= 0 && stream, "open with a stream");
  if (me != 0) std::fprintf(stream, "the first line of %d\n", me);
  require(sion_flush(sid) == 1, "flush");
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) std::fprintf(stream, "%s", lines(0, 100).c_str());
  const int closed = sion_parclose_mpi(sid);
  require(closed == (size == 1 ? 1 : 0), "the outcome of the close");
  require(size == 1 || (std::strstr(sheaf_last_error(), "task 0 wrote") &&
                        std::strstr(sheaf_last_error(), "of task 1")),
          "its message");
  require(me != 0 || found_in("rb,checksums=off") == lines(0, 100), "the lines of task 0");
  if (me != 0) found_in("rb,checksums=off");
}

}  // namespace

int main(int argc, char** argv) {
  return run_all(argc, argv,
                 {{"streams through the library", streams_through_the_library},
                  {"lines behind the chunk", lines_behind_the_chunk},
                  {"lines where nobody else writes", lines_where_nobody_else_writes},
                  {"lines over those of a neighbour", lines_over_those_of_a_neighbour}});
}
