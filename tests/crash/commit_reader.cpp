// commit_reader PATH...: opens each PATH, saved by commit_writer, with every interface. For each interface it
// prints a line "PATH INTERFACE STEP" with the step that it finds, or "PATH INTERFACE: PROBLEM" if the
// streams are not those of one step. Run it with one rank, or with as many ranks as commit_writer has tasks.
// With one rank, it leaves out the parallel interfaces that need a rank for each task.
#include <mpi.h>

#include <cstdio>
#include <sheaf/multifile.hpp>
#include <sheaf/multifile_mpi.hpp>
#include <string>
#include <vector>

#include "sheaf.h"
#include "sion.h"
#include "sion_cxx_serial.hpp"
#include "sion_mpi.h"
#include "sion_omp.h"

namespace {

constexpr int tasks = 5;
constexpr size_t pairs = 1500;
int rank = 0;

// Collects the step and the errors of all tasks that were read through one interface.
class CommitReading {
 public:
  // Checks the stream of a task, which consists of numbers.
  void found(int task, const std::vector<long>& stream) {
    if (stream.size() != 2 * pairs) wrong_ = "task " + std::to_string(task) + " has another length";
    for (size_t i = 0; i < stream.size(); i += 2) {
      if (step_ < 0) step_ = stream[i];
      if (stream[i] != step_ || stream[i + 1] != task)
        wrong_ = "task " + std::to_string(task) + " has bytes of step " + std::to_string(stream[i]) +
                 " and " + std::to_string(step_);
    }
  }
  // Reads and checks the stream of a task. The current position of `sid` must be the start of the stream.
  void read(int task, int sid) {
    std::vector<long> stream(2 * pairs + 1);
    stream.resize(sion_fread(stream.data(), sizeof(long), stream.size(), sid));
    found(task, stream);
  }
  void failed() { wrong_ = sheaf_last_error(); }
  void failed(const char* why) { wrong_ = why; }
  bool opened(int sid) {
    if (sid < 0) failed();
    return sid >= 0;
  }

  void say(const char* path, const char* interface) const {
    if (wrong_.empty())
      std::printf("%s %s %ld\n", path, interface, step_);
    else
      std::printf("%s %s: %s\n", path, interface, wrong_.c_str());
  }
  // Combines the results of all ranks and prints the line. Collective.
  void say_together(const char* path, const char* interface) {
    long steps[2] = {step_, -step_};
    int is_wrong = !wrong_.empty(), any = 0;
    MPI_Allreduce(MPI_IN_PLACE, steps, 2, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&is_wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!any && steps[0] != -steps[1]) wrong_ = "tasks have found different steps";
    if (rank == 0 || is_wrong) say(path, interface);
  }

 private:
  long step_ = -1;
  std::string wrong_;
};

void read_serially(char* path) {
  CommitReading all, ranks, modern, classic;
  const int sid = sion_open(path, "rb", nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  for (int task = 0; all.opened(sid) && task < tasks; ++task) {
    sion_seek(sid, task, 0, 0);
    all.read(task, sid);
  }
  if (sid >= 0) sion_close(sid);
  all.say(path, "sion_open");
  for (int task = 0; task < tasks; ++task) {
    const int own = sion_open_rank(path, "rb", nullptr, nullptr, &task, nullptr);
    if (!ranks.opened(own)) break;
    ranks.read(task, own);
    sion_close(own);
  }
  ranks.say(path, "sion_open_rank");
  try {
    sheaf::MultifileReader in(path);
    for (int task = 0; task < tasks; ++task) {
      in.select(task);
      modern.found(task, in.rest<long>());
    }
  } catch (const sheaf::Error& e) {
    modern.failed(e.what());
  }
  modern.say(path, "MultifileReader");
  for (int task = 0; task < tasks; ++task) {
    sionlib::serial::SIONFile in(path, "rb");
    in.setRank(task);
    in.openRank();
    if (!classic.opened(in.getReturnCode())) break;
    std::vector<long> stream(2 * pairs);
    in.read(stream.data(), sizeof(long), static_cast<int>(stream.size()));
    classic.found(task, stream);
    in.close();
  }
  classic.say(path, "SIONFile");
}

void read_with_threads(const char* path) {
  CommitReading all;
#pragma omp parallel num_threads(tasks)
  {
    sion_int64 chunk = 0;
    sion_int32 block = 0;
    int task = -1;
    const int sid = sion_paropen_omp(path, "rb", &chunk, &block, &task, nullptr, nullptr);
#pragma omp critical
    if (all.opened(sid)) all.read(task, sid);
    if (sid >= 0) sion_parclose_omp(sid);
  }
  all.say(path, "sion_paropen_omp");
}

void read_mapped(char* path) {
  CommitReading own;
  int files = 0, count = -1;
  sion_int32 block = 0;
  int *ranks = nullptr, *numbers = nullptr, *locals = nullptr;
  sion_int64* chunks = nullptr;
  const int sid = sion_paropen_mapped_mpi(path, "rb", &files, MPI_COMM_WORLD, &count, &ranks, &chunks,
                                          &numbers, &locals, &block, nullptr);
  for (int i = 0; own.opened(sid) && i < count; ++i) {
    sion_seek(sid, ranks[i], 0, 0);
    own.read(ranks[i], sid);
  }
  if (sid >= 0) sion_parclose_mapped_mpi(sid);
  own.say_together(path, "sion_paropen_mapped_mpi");
  for (void* array : {static_cast<void*>(ranks), static_cast<void*>(numbers), static_cast<void*>(locals),
                      static_cast<void*>(chunks)})
    std::free(array);
}

void read_in_parallel(const char* path) {
  CommitReading own, modern;
  int files = 0, task = rank;
  sion_int64 chunk = 0;
  sion_int32 block = 0;
  MPI_Comm local = MPI_COMM_NULL;
  const int sid =
      sion_paropen_mpi(path, "rb", &files, MPI_COMM_WORLD, &local, &chunk, &block, &task, nullptr, nullptr);
  if (own.opened(sid)) own.read(rank, sid);
  if (sid >= 0) sion_parclose_mpi(sid);
  own.say_together(path, "sion_paropen_mpi");
  try {
    sheaf::mpi::MultifileReader in(path, MPI_COMM_WORLD);
    modern.found(rank, in.rest<long>());
    in.close();
  } catch (const sheaf::Error& e) {
    modern.failed(e.what());
  }
  modern.say_together(path, "mpi::MultifileReader");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 1; i < argc; ++i) {
    if (rank == 0) read_serially(argv[i]);
    if (rank == 0) read_with_threads(argv[i]);
    read_mapped(argv[i]);
    if (size == tasks) read_in_parallel(argv[i]);
  }
  MPI_Finalize();
  return 0;
}
