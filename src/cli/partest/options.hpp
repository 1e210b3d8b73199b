// cli/partest/options: options of the benchmark. Options and defaults are those of partest of SIONlib 1.7,
// with additions by Sheaf (docs/tools/sheaf-partest.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sheaf::partest {

// Values of -T, the interface to measure. With threads, types 0 and 1 use one hybrid multifile, and types 2
// and 3 use one OpenMP multifile per process. one_task and posix_shared are additions of Sheaf.
enum TestType {
  collective_read = 0,
  independent_read = 1,
  mpi_io = 2,
  task_local = 3,
  one_task = 4,
  posix_shared = 5
};

// All sizes are in bytes.
struct DataSizes {
  int64_t chunksize = 20 << 20;  // < 0: the size of the task's data
  int64_t fsblksize = 2 << 20;   // < 0: the file system's
  int64_t bufsize = 10 << 20;
  std::optional<int64_t> totalsize;  // sum over all tasks; replaces localsize
  int64_t localsize = 20 << 20;
  double factor = 0;  // maximum relative increase of a task's data; the increase is pseudo-random
};

// The calls that write and read multifiles.
struct CallOptions {
  int posix = 0;
  int collwrite = 0;
  int collread = 0;
  int collmsa = 0;
};

// Assignment of tasks to transfers, in space and time.
struct TaskOptions {
  int64_t taskoffset = 0;
  int64_t byteoffset = 0;
  int serialized = -1;  // tasks at a time; -1: all; -2: transactions
  int threads = 0;      // per process; 0: MPI only, no threads
  int iotasks = 0;      // tasks of a host that transfer at once; 0: all
  int tasks_per_file = 0;
  int bgionode = 0;
  int bgtasksort = 0;
};

struct OutputOptions {
  int verbose = 0;
  int nochecksum = 0;
  int debugtask = 0;
  int debuglast = 0;
};

// IBM's hints for MPI-IO; negative: not given.
struct HintOptions {
  int largeblock = -1;
  int iobufsize = -1;  // KB
  int sparseaccess = -1;
};

struct Options {
  std::string filename = "partest_parfile.sion";
  int numfiles = 1;  // <= 0: one per host, or per TaskOptions::tasks_per_file tasks
  std::vector<int> testtypes = {collective_read};
  int read = 1;
  int write = 1;  // 2: creation of the files is a separate step
  int unlinkfiles = 0;
  bool json = false;
  DataSizes sizes;
  CallOptions calls;
  TaskOptions tasks;
  OutputOptions output;
  HintOptions hints;

  // bytes_of() returns the size of a task's data, and min_bytes() the minimum over all tasks, in bytes.
  int64_t bytes_of(int64_t task, int64_t ntasks) const;
  int64_t min_bytes(int64_t ntasks) const {
    return sizes.totalsize ? *sizes.totalsize / ntasks : sizes.localsize;
  }
};

// Why the program must end without a run: the text to print, and the exit code.
struct Refusal {
  std::string text;
  int exit_code;  // 0: help or version, on stdout; 2: an error in the command line
};

// One line of `partest parameter:`; the letter is 0 if the option has only a long form.
struct Parameter {
  char letter;
  std::string name;
  std::string value;
};

// Parses the command line of a program called `name` into `options`. Returns a Refusal if the program must
// end. If `name` is ompi_partest, the default number of threads is that of OpenMP. Local.
std::optional<Refusal> parse(const std::string& name, int argc, char** argv, Options& options);

// Checks the options against the number of tasks. Returns a sentence that describes the first contradiction,
// or nullopt if there is none.
std::optional<std::string> contradiction(const Options& options, int ntasks);

// Returns all parameters in the order of the help text.
std::vector<Parameter> parameters(const Options& options);

}  // namespace sheaf::partest
