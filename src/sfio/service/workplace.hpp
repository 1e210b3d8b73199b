// sfio/service/workplace: runs the requests of an I/O listener such that it still answers liveness queries
// during a slow disk request.
#pragma once

#include <functional>
#include <memory>

#include "base/export.hpp"

namespace sheaf::sfio {

// Runs one job at a time. All jobs of a Workplace are serialized, and each job sees the effects of the
// preceding ones.
class Workplace {
 public:
  virtual ~Workplace() = default;
  // Runs the job and rethrows its exception. While the job runs, calls the callback meanwhile() several times
  // a second. The callback must not use the job's data, must return soon and must not throw.
  virtual void carry_out(const std::function<void()>& job, const std::function<void()>& meanwhile) = 0;
};

// Runs the job in the calling thread; never calls the callback. For services that need not answer liveness
// queries.
SHEAF_EXPORT std::unique_ptr<Workplace> own_place();
// Runs the job in the calling thread and the callback in a second one. Does not slow down the job, but the
// transport must accept messages from both threads (MPI: MPI_THREAD_SERIALIZED). Returns own_place() if no
// thread can be created.
SHEAF_EXPORT std::unique_ptr<Workplace> guarded_place();
// Runs the job in another thread and the callback in the calling one. Costs up to a third of the bandwidth of
// a fast disk. Returns own_place() if no thread can be created.
SHEAF_EXPORT std::unique_ptr<Workplace> thread_place();

}  // namespace sheaf::sfio
