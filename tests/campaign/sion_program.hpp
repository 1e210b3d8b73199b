// sion_program: random programs over the C interface of multifiles. The tasks of a program are fibers, MPI
// processes or OpenMP threads. A ProgramGroup defines how these tasks open, close and agree.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "campaign/stream_oracle.hpp"
#include "support/accepted.hpp"

namespace sheaf::test::campaign {

enum class Interface : uint8_t { serial, parallel, mapped, collective, merged, keyval, compressed };
const char* name_of(Interface interface);

struct SionProgram {
  enum class OpenForm : uint8_t { serial, parallel, mapped };
  OpenForm open = OpenForm::serial;
  int processes = 1;
  int tasks_each = 1;  // tasks per process
  int files = 1;       // physical files
  std::string words;   // words of the open mode after "wb" or "append"
  bool collective = false, merged = false, keyval = false;
  bool replaces = false;  // a complete multifile exists before the program
  bool async = false;     // it is saved in the background, and close() waits until the save is durable
  Promise promise;
  int64_t chunk = 0;    // bytes of a chunk
  int64_t largest = 0;  // maximum bytes of a call
  int calls = 0;        // calls of each process
  Accepted::Reaction reaction = Accepted::Reaction::ignore;
  uint64_t seed = 0;

  int ntasks() const { return processes * tasks_each; }
  std::string mode() const { return (promise.appends ? "append" : "wb") + words + (async ? ",async" : ""); }
  // Returns a program without failures. It creates the generation that `this` program then appends to or
  // replaces.
  SionProgram before() const;
  std::string describe() const;
};

// Draws a program from `seed`. `processes` is its number of processes; if 0, the number is drawn as well.
SionProgram draw_program(Interface interface, uint64_t seed, int processes = 0);
// Lets the program save in the background. It must not append.
void save_in_background(SionProgram& program);

// Collective operations of the processes of a program. Each process has its own ProgramGroup.
class ProgramGroup {
 public:
  virtual ~ProgramGroup() = default;
  virtual int rank() const = 0;
  // open() and close() are collective and return the result of the C interface.
  virtual int open(const SionProgram& program, const std::string& path) = 0;
  virtual int close(int sid) = 0;
  // any() and from() are collective. any() returns whether `mine` is true on any process. from() returns the
  // bytes of process `from`.
  virtual bool any(bool mine) = 0;
  virtual std::vector<std::byte> from(int from, const std::vector<std::byte>& mine) = 0;
  // run_program() calls this function before and after each library call between open and close. `now` is
  // true before the call.
  virtual void inside(bool /*now*/) {}
};

struct ProgramResult {
  bool opened = false;  // on all processes
  bool closed = false;  // on this process
};

// Opens, writes, flushes and closes the multifile. Collective. `ledger` receives the bytes that the library
// accepted from this process. For merged calls, process 0 records the bytes of all processes. Process 0 calls
// before_call(k) before its k-th call.
ProgramResult run_program(ProgramGroup& group, const SionProgram& program, const std::string& path,
                          Accepted& ledger, const std::function<void(int call)>& before_call = {});

}  // namespace sheaf::test::campaign
