// sion_program: random programs over the C interface of multifiles. The same programs run with tasks that are
// fibers, MPI processes and OpenMP threads; a Group says how they open, close and agree.
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
  enum class Open : uint8_t { serial, parallel, mapped };
  Open open = Open::serial;
  int processes = 1;
  int tasks_each = 1;  // tasks per process
  int files = 1;       // physical files
  std::string words;   // of the open mode, behind "wb" or "append"
  bool collective = false, merged = false, keyval = false;
  bool replaces = false;  // a complete multifile is there before
  Promise promise;
  int64_t chunk = 0;    // bytes
  int64_t largest = 0;  // bytes of a call
  int calls = 0;        // of each process
  Accepted::Answer answer = Accepted::Answer::ignore;
  uint64_t seed = 0;

  int ntasks() const { return processes * tasks_each; }
  std::string mode() const { return (promise.appends ? "append" : "wb") + words; }
  // The same program without failures in mind, which makes the generation that `this` appends to or replaces.
  SionProgram before() const;
  std::string describe() const;
};

// `processes`: > 0: that many, else drawn from the seed.
SionProgram draw_program(Interface interface, uint64_t seed, int processes = 0);

// The processes of a program, seen by one of them.
class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;
  // Collective; return what the C interface returns.
  virtual int open(const SionProgram& program, const std::string& path) = 0;
  virtual int close(int sid) = 0;
  // Collective: whether any process says so; the bytes that process `from` has.
  virtual bool any(bool mine) = 0;
  virtual std::vector<std::byte> from(int from, const std::vector<std::byte>& mine) = 0;
  // This process enters, or leaves, a call of the library between open and close; `together`: a collective
  // one.
  virtual void inside(bool /*now*/, bool /*together*/) {}
};

struct Ended {
  bool opened = false;  // on all processes
  bool closed = false;  // on this process
};

// Collective: opens, writes, flushes and closes. `ledger` receives what this process accepts; of merged
// calls, process 0 notes the bytes of all. before_call(k) is called on process 0.
Ended run_program(Group& group, const SionProgram& program, const std::string& path, Accepted& ledger,
                  const std::function<void(int call)>& before_call = {});

}  // namespace sheaf::test::campaign
