// cli/partest/target: the I/O interface under test. One subclass exists for each way to store the data of
// many tasks in files.
//
// A Target serves one phase: construction, open, transfers, close. The constructor allocates communicators
// and other resources; its time is not measured. All tasks must call each step. If a step fails, it throws on
// the tasks that notice the failure. Within a step, a task waits for other tasks only if the interface under
// test does. After a successful open(), the caller must call close(), unless the phase fails; the destructor
// closes the target then. All tasks must destroy their targets in the same order.
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
  // Writes or reads all `bytes` bytes, depending on the phase, or throws. If collective(), every task makes
  // the same number of calls, some with 0 bytes.
  virtual void move(std::byte* data, int64_t bytes) = 0;
  // Reads properties that are available only while the file is open.
  virtual void look() {}
  virtual void close() = 0;
  // In transaction mode (TaskOptions::serialized), called before and after the transfers.
  virtual void begin_transaction() {}
  virtual void end_transaction() {}
  // Removes the files that this task is responsible for. Called after close().
  virtual void remove() = 0;

  virtual bool collective() const { return false; }
  // Returns the number of the task that wrote the data which this task reads. In a write phase, returns the
  // number of this task.
  virtual int source() const { return source_of(comm.rank()); }

  // Returns the maximum number of bytes per call.
  virtual int64_t largest_piece() const { return options.sizes.bufsize; }
  // The following members are valid after look(): the number of this task's physical file, the number of
  // files, and the number of chunks that the task uses.
  int file = 0;
  int files = 1;
  int64_t chunks = 1;

 protected:
  int source_of(int task) const;
  // Returns the offset of a task's data in a file that concatenates the data of all tasks.
  int64_t begin_of(int task) const;

  const bool writes;  // otherwise reads
  const Options& options;
  Comm& comm;
};

// Creates the target of a test type. Collective.
std::unique_ptr<Target> make_target(int type, bool writes, const Options& options, Comm& comm);

// Returns the label of a test type: "multifile", "MPI-IO", ...
std::string name_of_type(int type, const Options& options);

std::unique_ptr<Target> make_multifile(int type, bool writes, const Options& options, Comm& comm);
std::unique_ptr<Target> make_mpi_io(bool writes, const Options& options, Comm& comm);
// Creates a target that uses system calls. `type`: task_local, one_task or posix_shared.
std::unique_ptr<Target> make_posix(int type, bool writes, const Options& options, Comm& comm);

// Returns names like NAME.000007.
std::string numbered(const std::string& name, int number);
// Removes a file; does nothing if it does not exist.
void remove_file(const std::string& path);

}  // namespace sheaf::partest
