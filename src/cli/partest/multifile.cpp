// cli/partest/multifile: the target for multifiles. A task is an MPI process or, with threads, one thread of
// a process. With threads, either all tasks share one multifile, or each process has a multifile of its own.
#include <mpi.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "cli/partest/target.hpp"
#include "sheaf.h"
#include "sion.h"
#include "sion_omp.h"

namespace sheaf::partest {

namespace {

[[noreturn]] void fail() { throw Error(Code::io, sheaf_last_error()); }

class MultifileTarget : public Target {
 public:
  // Called by all threads of a process, of which only the master thread may call MPI.
  MultifileTarget(int type, bool w, const Options& o, Comm& c)
      : Target(w, o, c), alone_(o.tasks.threads > 0 && type >= mpi_io), independent_(!w && type % 2 == 1) {
    if (alone_ || c.rank() % threads_ != 0) return;
    if (!writes && !independent_ && shift() != 0)
      MPI_Comm_split(MPI_COMM_WORLD, 0, process_of_file(), &reading_);
    if (options.numfiles > 0) return;
    if (options.tasks.tasks_per_file > 0) {
      MPI_Comm_split(MPI_COMM_WORLD, process_ * threads_ / options.tasks.tasks_per_file, 0, &group_);
    } else {
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &group_);
    }
  }

  ~MultifileTarget() override {
    try {
      if (sid_ >= 0) close();
    } catch (const Error&) {  // the phase has already failed
    }
    if (reading_ != MPI_COMM_NULL) MPI_Comm_free(&reading_);
    if (group_ != MPI_COMM_NULL) MPI_Comm_free(&group_);
  }

  void open() override {
    std::string path = name();
    sion_int64 chunksize = options.bytes_of(comm.rank(), comm.size());
    if (options.sizes.chunksize >= 0) chunksize = options.sizes.chunksize;
    auto fsblksize = static_cast<sion_int32>(std::max<int64_t>(options.sizes.fsblksize, -1));
    const std::string words =
        std::string(writes ? "bw" : "br") + (options.calls.posix ? ",posix" : ",ansi") +
        (options.calls.collmsa ? ",collmsa" : "") +
        (options.tasks.iotasks > 0 ? ",iotasks=" + std::to_string(options.tasks.iotasks) : "");
    int rank = comm.rank();
    int numfiles = options.numfiles;
    const MPI_Comm all = reading_ == MPI_COMM_NULL ? MPI_COMM_WORLD : reading_;
    if (independent_) {
      rank = alone_ ? comm.rank() % threads_ : source();
      sid_ = sion_open_rank(path.data(), words.c_str(), &chunksize, &fsblksize, &rank, nullptr);
    } else if (options.tasks.threads == 0) {
      sid_ = sion_paropen_mpi(path.c_str(), words.c_str(), &numfiles, all, &group_, &chunksize, &fsblksize,
                              &rank, nullptr, nullptr);
    } else if (alone_) {
      sid_ = sion_paropen_omp(path.c_str(), words.c_str(), &chunksize, &fsblksize, &rank, nullptr, nullptr);
    } else {
      sid_ = sion_paropen_ompi(path.c_str(), words.c_str(), &numfiles, all, &group_, &chunksize, &fsblksize,
                               &rank, nullptr, nullptr);
    }
    if (sid_ < 0) fail();
  }

  void move(std::byte* data, int64_t bytes) override {
    const auto n = static_cast<size_t>(bytes);
    size_t moved = n;
    if (collective()) {
      moved = writes ? sion_coll_fwrite(data, 1, n, sid_) : sion_coll_fread(data, 1, n, sid_);
    } else if (n > 0) {
      moved = writes ? sion_fwrite(data, 1, n, sid_) : sion_fread(data, 1, n, sid_);
    }
    if (moved == n) return;
    if (writes) fail();
    throw Error(Code::damaged, "task " + std::to_string(source()) + " of '" + name() + "' has only " +
                                   std::to_string(static_cast<int64_t>(moved)) + " of the next " +
                                   std::to_string(n) + " bytes");
  }

  void look() override {
    int block = 0;
    int blocks = 0;
    sion_int64 position = 0;
    sion_int64* sizes = nullptr;
    if (sion_get_current_location(sid_, &block, &position, &blocks, &sizes) != SION_SUCCESS) fail();
    chunks = writes ? block + 1 : blocks;
    files = alone_ ? processes_ : sion_get_number_of_files(sid_);
    file = alone_ ? process_of_file() : sion_get_filenumber(sid_);
  }

  void close() override {
    const int sid = std::exchange(sid_, -1);
    int closed;
    if (independent_) {
      closed = sion_close(sid);
    } else if (options.tasks.threads == 0) {
      closed = sion_parclose_mpi(sid);
    } else {
      closed = alone_ ? sion_parclose_omp(sid) : sion_parclose_ompi(sid);
    }
    if (closed != SION_SUCCESS) fail();
  }

  void begin_transaction() override {
    if (!independent_) sion_startof_transaction_mpi(sid_);
  }
  void end_transaction() override {
    if (!independent_) sion_endof_transaction_mpi(sid_);
  }

  void remove() override {
    if (alone_) {
      if (comm.rank() % threads_ == 0) remove_file(name_of(process_));
    } else if (comm.rank() == 0) {
      remove_file(options.filename);
      for (int i = 1; i < files; ++i) remove_file(numbered(options.filename, i));
    }
  }

  bool collective() const override {
    return writes ? options.calls.collwrite : options.calls.collread && !independent_;
  }

  // If a process opens the multifile for all its threads, rounds the task offset up to a multiple of the
  // threads per process.
  int source() const override {
    if (independent_ && !alone_) return Target::source();
    return process_of_file() * threads_ + comm.rank() % threads_;
  }

  int64_t largest_piece() const override {
    return options.sizes.chunksize > 0 ? std::min(options.sizes.bufsize, options.sizes.chunksize)
                                       : options.sizes.bufsize;
  }

 private:
  int shift() const {
    const int64_t p = processes_;
    const int64_t offset = options.tasks.taskoffset;
    const int64_t whole = offset / threads_ + (offset % threads_ > 0 ? 1 : 0);
    return static_cast<int>(((whole % p) + p) % p);
  }
  // Returns the process that wrote the data of this process.
  int process_of_file() const { return writes ? process_ : (process_ + shift()) % processes_; }
  std::string name_of(int process) const {
    return alone_ && processes_ > 1 ? numbered(options.filename, process) : options.filename;
  }
  std::string name() const { return name_of(process_of_file()); }

  const bool alone_;        // one multifile per process
  const bool independent_;  // each task opens its part separately for reading
  // Placement of the tasks: each process runs `threads_` tasks with consecutive ranks in `comm`.
  const int threads_ = std::max(options.tasks.threads, 1);  // per process
  const int process_ = comm.rank() / threads_;
  const int processes_ = comm.size() / threads_;
  int sid_ = -1;
  MPI_Comm reading_ = MPI_COMM_NULL;  // the processes in reading order
  MPI_Comm group_ = MPI_COMM_NULL;    // the processes of this physical file
};

}  // namespace

std::unique_ptr<Target> make_multifile(int type, bool writes, const Options& options, Comm& comm) {
  return std::make_unique<MultifileTarget>(type, writes, options, comm);
}

}  // namespace sheaf::partest
