// Multifiles: of MPI tasks, of threads of MPI processes, or of the threads of each process alone.
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

// The processes behind the tasks of a Comm, in its order.
struct Place {
  int threads;  // per process; 1 without
  int process;
  int processes;
};

class Multifile : public Target {
 public:
  Multifile(int type, const Options& o, Comm& c)
      : Target(o, c),
        alone_(o.threads > 0 && type >= mpi_io),
        independent_(type % 2 == 1),
        place_{std::max(o.threads, 1), c.rank() / std::max(o.threads, 1), c.size() / std::max(o.threads, 1)} {
  }

  ~Multifile() override {
    try {
      if (sid_ >= 0) close();
    } catch (const Error&) {  // the phase has failed already
    }
    if (reading_ != MPI_COMM_NULL) MPI_Comm_free(&reading_);
    if (group_ != MPI_COMM_NULL) MPI_Comm_free(&group_);
  }

  // Only master threads may call MPI.
  void prepare(Operation operation) override {
    const bool master = comm.rank() % place_.threads == 0;
    if (alone_ || !master) return;
    if (operation == Operation::read && !independent_ && shift() != 0)
      MPI_Comm_split(MPI_COMM_WORLD, 0, (place_.process + shift()) % place_.processes, &reading_);
    if (options.numfiles > 0) return;
    if (options.tasks_per_file > 0) {
      MPI_Comm_split(MPI_COMM_WORLD, place_.process * place_.threads / options.tasks_per_file, 0, &group_);
    } else {
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &group_);
    }
  }

  void open(Operation operation) override {
    writes_ = operation == Operation::write;
    if (!writes_ && independent_) {
      open_rank();
    } else {
      open_together();
    }
    if (sid_ < 0) fail();
  }

  void write(const std::byte* data, int64_t bytes) override {
    const auto n = static_cast<size_t>(bytes);
    if (options.collwrite) {
      if (sion_coll_fwrite(data, 1, n, sid_) != n) fail();
      return;
    }
    if (n > 0 && sion_fwrite(data, 1, n, sid_) != n) fail();
  }

  void read(std::byte* data, int64_t bytes) override {
    const auto n = static_cast<size_t>(bytes);
    size_t found = 0;
    if (collective(Operation::read)) {
      found = sion_coll_fread(data, 1, n, sid_);
    } else if (n > 0) {
      found = sion_fread(data, 1, n, sid_);
    }
    if (found != n)
      throw Error(Code::damaged, "task " + std::to_string(source()) + " of '" + name() + "' has only " +
                                     std::to_string(static_cast<int64_t>(found)) + " of the next " +
                                     std::to_string(n) + " bytes");
  }

  void look() override {
    int block = 0;
    int blocks = 0;
    sion_int64 position = 0;
    sion_int64* sizes = nullptr;
    if (sion_get_current_location(sid_, &block, &position, &blocks, &sizes) != SION_SUCCESS) fail();
    chunks = writes_ ? block + 1 : blocks;
    files = alone_ ? place_.processes : sion_get_number_of_files(sid_);
    file = alone_ ? process_of_file() : sion_get_filenumber(sid_);
  }

  void close() override {
    const int sid = std::exchange(sid_, -1);
    int closed;
    if (!writes_ && independent_) {
      closed = sion_close(sid);
    } else if (options.threads == 0) {
      closed = sion_parclose_mpi(sid);
    } else {
      closed = alone_ ? sion_parclose_omp(sid) : sion_parclose_ompi(sid);
    }
    if (closed != SION_SUCCESS) fail();
  }

  void begin_transaction() override {
    if (!independent_ || writes_) sion_startof_transaction_mpi(sid_);
  }
  void end_transaction() override {
    if (!independent_ || writes_) sion_endof_transaction_mpi(sid_);
  }

  void remove() override {
    if (alone_) {
      if (comm.rank() % place_.threads == 0) remove_file(name_of(place_.process));
    } else if (comm.rank() == 0) {
      remove_file(options.filename);
      for (int i = 1; i < files; ++i) remove_file(numbered(options.filename, i));
    }
  }

  bool collective(Operation operation) const override {
    if (operation == Operation::write) return options.collwrite;
    return options.collread && !independent_;
  }

  // Whole processes are shifted where a process opens for all its threads.
  int source() const override {
    if (independent_ && !alone_) return Target::source();
    return process_of_file() * place_.threads + comm.rank() % place_.threads;
  }

  int64_t largest_piece() const override {
    return options.chunksize > 0 ? std::min(options.bufsize, options.chunksize) : options.bufsize;
  }

 private:
  int shift() const {
    const int64_t p = place_.processes;
    const int64_t offset = options.taskoffset;
    const int64_t whole = offset / place_.threads + (offset % place_.threads > 0 ? 1 : 0);
    return static_cast<int>(((whole % p) + p) % p);
  }
  // The process whose data this one handles.
  int process_of_file() const {
    return writes_ ? place_.process : (place_.process + shift()) % place_.processes;
  }
  std::string name_of(int process) const {
    return alone_ && place_.processes > 1 ? numbered(options.filename, process) : options.filename;
  }
  std::string name() const { return name_of(process_of_file()); }

  void open_rank() {
    sion_int64 chunksize = 0;
    sion_int32 fsblksize = 0;
    int rank = alone_ ? comm.rank() % place_.threads : source();
    sid_ = sion_open_rank(name().data(), mode("br").c_str(), &chunksize, &fsblksize, &rank, nullptr);
  }

  void open_together() {
    int numfiles = options.numfiles;
    sion_int64 chunksize = options.chunk_of(options.bytes_of(comm.rank(), comm.size()));
    auto fsblksize = static_cast<sion_int32>(std::max<int64_t>(options.fsblksize, -1));
    int rank = comm.rank();
    const std::string path = name();
    const std::string words = mode(writes_ ? "bw" : "br");
    const MPI_Comm all = reading_ == MPI_COMM_NULL ? MPI_COMM_WORLD : reading_;
    if (options.threads == 0) {
      sid_ = sion_paropen_mpi(path.c_str(), words.c_str(), &numfiles, all, &group_, &chunksize, &fsblksize,
                              &rank, nullptr, nullptr);
    } else if (alone_) {
      sid_ = sion_paropen_omp(path.c_str(), words.c_str(), &chunksize, &fsblksize, &rank, nullptr, nullptr);
    } else {
      sid_ = sion_paropen_ompi(path.c_str(), words.c_str(), &numfiles, all, &group_, &chunksize, &fsblksize,
                               &rank, nullptr, nullptr);
    }
  }

  std::string mode(const char* direction) const {
    return std::string(direction) + (options.posix ? ",posix" : ",ansi") +
           (options.collmsa ? ",collmsa" : "") +
           (options.iotasks > 0 ? ",iotasks=" + std::to_string(options.iotasks) : "");
  }

  const bool alone_;        // a multifile per process
  const bool independent_;  // every task opens its part for reading by itself
  const Place place_;
  bool writes_ = false;
  int sid_ = -1;
  MPI_Comm reading_ = MPI_COMM_NULL;  // the processes in the order in which they read
  MPI_Comm group_ = MPI_COMM_NULL;    // the processes of this one's physical file
};

}  // namespace

std::unique_ptr<Target> make_multifile(int type, const Options& options, Comm& comm) {
  return std::make_unique<Multifile>(type, options, comm);
}

}  // namespace sheaf::partest
