// Tests the C++ interfaces under a real MPI: sheaf::mpi and the class of SIONlib. Returns 0 if all checks
// pass, and otherwise prints the failed check and aborts.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>

#include "sheaf/multifile.hpp"
#include "sheaf/multifile_mpi.hpp"
#include "sion_cxx.h"

namespace {

int me = 0;
int size = 1;
std::string path;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "cxx_test: rank %d of %d: %s (%s)\n", me, size, what, sheaf_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

std::vector<int> content(int task) {
  std::vector<int> numbers;
  for (int i = 0; i < 100 + 10 * task; ++i) numbers.push_back(1000 * task + i);
  return numbers;
}

void streams_keep_what_was_written(int files) {
  {
    sheaf::mpi::MultifileWriter out(path, MPI_COMM_WORLD,
                                    {.chunk_size = 256, .files = files, .block_size = 256});
    require(out.task() == me && out.files() == files && out.block_size() == 256, "facts of the writer");
    out.write(content(me));
    out.write(me);
    out.close();
  }
  {
    sheaf::mpi::MultifileReader in(path, MPI_COMM_WORLD);
    require(in.task() == me && in.files() == files && in.chunk_size() == 256, "facts of the reader");
    std::vector<int> found(content(me).size());
    require(in.read(found) == found.size() && found == content(me), "what was written");
    require(in.get<int>() == me && in.at_end(), "the end");
  }
  sheaf::MultifileReader all(path);
  require(all.tasks() == size, "number of tasks");
  all.select((me + 1) % size);
  require(all.rest<int>().size() == content((me + 1) % size).size() + 1, "the stream of another task");
}

void all_tasks_throw_or_none() {
  int thrown = 0;
  try {
    sheaf::mpi::MultifileWriter out(path, MPI_COMM_WORLD, {.chunk_size = me == 0 ? -1 : 10});
  } catch (const sheaf::Error&) {
    thrown = 1;
  }
  require(thrown == 1, "the same outcome on all tasks");
}

// An exception destroys the writer without a close. The destructor must not wait for other tasks.
void an_exception_does_not_wait_for_others() {
  try {
    sheaf::mpi::MultifileWriter out(path, MPI_COMM_WORLD, {.chunk_size = 10});
    throw std::runtime_error("elsewhere");
  } catch (const std::runtime_error&) {
  }
}

void resize_before_writing() {
  sheaf::mpi::MultifileWriter out(path, MPI_COMM_WORLD, {.chunk_size = 10, .block_size = 64});
  out.resize(1000 + me);
  out.ensure_free_space(1000 + me);
  out.close();
}

void the_class_of_sionlib() {
  sionlib::mpi::SIONFile out(path, "bw", 1, me);
  require(out.getChunkSize() == 2097152, "default chunk size");
  out.setChunkSize(100);
  out.setLocalCommunicator(MPI_COMM_NULL);
  out.setGlobalCommunicator(MPI_COMM_WORLD);
  require(out.getLocalCommunicator() == MPI_COMM_NULL && out.getGlobalCommunicator() == MPI_COMM_WORLD,
          "communicators");
  out.open();
  require(out.getReturnCode() == out.getSid() && out.getSid() >= 0, "open");
  require(out.getNewSionFileName() == path && out.getGlobalRank() == me, "name of the physical file");
  out.ensureFreeSpace(50);
  require(out.getReturnCode() == SION_SUCCESS, "space");
  out.write(me);
  out << 2.5;
  require(out.getReturnCode() == 1, "write");
  out.close();
  require(out.getReturnCode() == SION_SUCCESS, "close");

  sionlib::mpi::SIONFile in(path, "br");
  in.open();
  int number = -1;
  double half = 0;
  in.read(&number);
  in >> half;
  require(number == me && half > 2.4 && in.getNumberOfSuccessfulReadElements() == 1, "read");
  in.endOfFile();
  require(in.getReturnCode() == 1, "end of file");
  in.close();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int number = static_cast<int>(getpid());
  MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
  path = "/tmp/sheaf_cxx_test_" + std::to_string(number) + ".sion";
  for (int files = 1; files <= (size > 1 ? 2 : 1); ++files) {
    streams_keep_what_was_written(files);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  resize_before_writing();
  the_class_of_sionlib();
  MPI_Barrier(MPI_COMM_WORLD);
  sheaf_print_errors(0);
  all_tasks_throw_or_none();
  an_exception_does_not_wait_for_others();
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    unlink(path.c_str());
    unlink((path + ".000001").c_str());
  }
  MPI_Finalize();
  return 0;
}
