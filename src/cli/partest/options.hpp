// cli/partest/options: what the benchmark is asked to do. Options and defaults are those of partest of
// SIONlib 1.7, and some of Sheaf's own (docs/tools/sheaf-partest.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sheaf::partest {

// -T: what is measured. With threads 0 and 1 are hybrid, 2 and 3 OpenMP multifiles, one per process.
// one_task and posix_shared are Sheaf's own.
enum TestType {
  collective_read = 0,
  independent_read = 1,
  mpi_io = 2,
  task_local = 3,
  one_task = 4,
  posix_shared = 5
};

// All sizes in bytes.
struct Options {
  std::string filename = "partest_parfile.sion";
  int numfiles = 1;              // <= 0: one per node, or per `tasks_per_file` tasks
  int64_t chunksize = 20 << 20;  // < 0: as the data of the task
  int64_t fsblksize = 2 << 20;   // < 0: the file system's
  std::vector<int> testtypes = {collective_read};
  int64_t bufsize = 10 << 20;
  std::optional<int64_t> totalsize;  // of all tasks; instead of localsize
  int64_t localsize = 20 << 20;
  double factor = 0;  // a task has up to so many times more data, by chance, in every run alike
  int read = 1;
  int write = 1;  // 2: the files are created in a step of its own
  int verbose = 0;
  int nochecksum = 0;
  int debugtask = 0;
  int debuglast = 0;
  int posix = 0;
  int collwrite = 0;
  int collread = 0;
  int collmsa = 0;
  int64_t taskoffset = 0;
  int64_t byteoffset = 0;
  int serialized = -1;  // tasks at a time; -1: all; -2: transactions
  int unlinkfiles = 0;
  int bgionode = 0;
  int tasks_per_file = 0;
  int bgtasksort = 0;
  int hintlargeblock = -1;
  int hintiobufsize = -1;
  int hintsparseaccess = -1;
  int threads = 0;  // of each process; 0: no threads, only MPI
  int iotasks = 0;  // tasks of a node that transfer at once; 0: all
  bool json = false;

  // Bytes of a task's data; what every task has at least.
  int64_t bytes_of(int64_t task, int64_t ntasks) const;
  int64_t least_bytes(int64_t ntasks) const { return totalsize ? *totalsize / ntasks : localsize; }
};

// What is to be printed instead of running, and the exit code.
struct Refusal {
  std::string text;
  int exit_code;  // 0: help or version, to be printed on stdout; 2: a mistake
};

// One line of `partest parameter:`; the letter is 0 if there is only the long form.
struct Parameter {
  char letter;
  std::string name;
  std::string value;
};

// Reads the command line of a program called `name`. ompi_partest runs with threads, by default as many as
// OpenMP has. Local.
std::optional<Refusal> parse(const std::string& name, int argc, char** argv, Options& options);

// What can only be said when the number of tasks is known: a sentence on what does not fit, or nothing.
std::optional<std::string> contradiction(const Options& options, int ntasks);

// All parameters in the order of the help text.
std::vector<Parameter> parameters(const Options& options);

}  // namespace sheaf::partest
