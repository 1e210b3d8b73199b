// cli/partest/target: what is written and read: one class for each way to store the data of many tasks in
// files.
//
// One Target serves one phase: prepare, open, transfers, close. Each step is called by all tasks; a step that
// fails throws on the tasks that notice, and nobody waits for anybody within it but as the interface under
// test does. A target whose open succeeded is closed by close(), or by the destructor if the phase fails.
// Destroy on all tasks in the same order.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/non_copyable.hpp"
#include "cli/partest/options.hpp"
#include "comm/comm.hpp"

namespace sheaf::partest {

enum class Operation { write, read };

class Target : private NonCopyable {
 public:
  Target(const Options& o, Comm& c) : options(o), comm(c) {}
  virtual ~Target() = default;

  // Communicators and whatever else is not to be timed. Collective.
  virtual void prepare(Operation) {}
  virtual void open(Operation operation) = 0;
  // All bytes or an error. With collective() every task makes the same number of calls, some with 0 bytes.
  virtual void write(const std::byte* data, int64_t bytes) = 0;
  virtual void read(std::byte* data, int64_t bytes) = 0;
  // What is known about the open file only.
  virtual void look() {}
  virtual void close() = 0;
  // Before and after the transfers, with transactions.
  virtual void begin_transaction() {}
  virtual void end_transaction() {}
  // After close. Removes what this task is responsible for.
  virtual void remove() = 0;

  virtual bool collective(Operation) const { return false; }
  // The task whose data this one reads, after prepare().
  virtual int source() const { return source_of(comm.rank()); }

  // Most bytes of one call.
  virtual int64_t largest_piece() const { return options.bufsize; }
  // After look(): physical file of this task, their number, and chunks in use by the task.
  int file = 0;
  int files = 1;
  int64_t chunks = 1;

 protected:
  int source_of(int task) const {
    const int64_t n = comm.size();
    return static_cast<int>((((task + options.taskoffset) % n) + n) % n);
  }
  // Where the data of a task begin in a file that has those of the tasks one behind the other.
  int64_t begin_of(int task) const;

  const Options& options;
  Comm& comm;
};

// A file, by the calls of the operating system. All throw Error.
class SystemFile : private NonCopyable {
 public:
  ~SystemFile();
  void open(const std::string& path, int flags);
  void write(const std::byte* data, int64_t bytes, int64_t offset);
  void read(std::byte* data, int64_t bytes, int64_t offset);  // all of it, or damaged
  void close();                                               // nothing if it is not open

 private:
  std::string path_;
  int descriptor_ = -1;
};

// The target of a test type. Local.
std::unique_ptr<Target> make_target(int type, const Options& options, Comm& comm);

// "multifile", "MPI-IO", ...: what the rows of a type are called.
std::string name_of_type(int type, const Options& options);

std::unique_ptr<Target> make_multifile(int type, const Options& options, Comm& comm);
std::unique_ptr<Target> make_mpi_io(const Options& options, Comm& comm);
std::unique_ptr<Target> make_task_files(const Options& options, Comm& comm);
std::unique_ptr<Target> make_posix_shared(const Options& options, Comm& comm);
std::unique_ptr<Target> make_one_task(const Options& options, Comm& comm);

// NAME.000007
std::string numbered(const std::string& name, int number);
// Removes a file; one that is not there is none of our business.
void remove_file(const std::string& path);

}  // namespace sheaf::partest
