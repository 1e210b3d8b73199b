// cli/partest/target: what is written or read: one class for each way to store the data of many tasks in
// files.
//
// One Target serves one phase: construction, which is not timed and makes communicators and whatever else is
// needed; open, transfers, close. Each step is called by all tasks; a step that fails throws on the tasks
// that notice, and nobody waits for anybody within it but as the interface under test does. A target whose
// open succeeded is closed by close(), or by the destructor if the phase fails. Destroy on all tasks in the
// same order.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/non_copyable.hpp"
#include "cli/partest/options.hpp"
#include "comm/comm.hpp"

namespace sheaf::partest {

class Target : private NonCopyable {
 public:
  Target(bool w, const Options& o, Comm& c) : writes(w), options(o), comm(c) {}
  virtual ~Target() = default;

  virtual void open() = 0;
  // Writes all bytes or reads all, as the phase does, or throws. With collective() every task makes the same
  // number of calls, some with 0 bytes.
  virtual void move(std::byte* data, int64_t bytes) = 0;
  // What is known about the open file only.
  virtual void look() {}
  virtual void close() = 0;
  // Before and after the transfers, with transactions.
  virtual void begin_transaction() {}
  virtual void end_transaction() {}
  // After close. Removes what this task is responsible for.
  virtual void remove() = 0;

  virtual bool collective() const { return false; }
  // The task whose data this one writes or reads.
  virtual int source() const { return source_of(comm.rank()); }

  // Most bytes of one call.
  virtual int64_t largest_piece() const { return options.bufsize; }
  // After look(): physical file of this task, their number, and chunks in use by the task.
  int file = 0;
  int files = 1;
  int64_t chunks = 1;

 protected:
  int source_of(int task) const;
  // Where the data of a task begin in a file that has those of the tasks one behind the other.
  int64_t begin_of(int task) const;

  const bool writes;  // else reads
  const Options& options;
  Comm& comm;
};

// The target of a test type. Collective.
std::unique_ptr<Target> make_target(int type, bool writes, const Options& options, Comm& comm);

// "multifile", "MPI-IO", ...: what the rows of a type are called.
std::string name_of_type(int type, const Options& options);

std::unique_ptr<Target> make_multifile(int type, bool writes, const Options& options, Comm& comm);
std::unique_ptr<Target> make_mpi_io(bool writes, const Options& options, Comm& comm);
// task_local, one_task or posix_shared.
std::unique_ptr<Target> make_posix(int type, bool writes, const Options& options, Comm& comm);

// NAME.000007
std::string numbered(const std::string& name, int number);
// Removes a file; one that is not there is none of our business.
void remove_file(const std::string& path);

}  // namespace sheaf::partest
