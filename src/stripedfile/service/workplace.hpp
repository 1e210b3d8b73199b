// stripedfile/service/workplace: how an I/O listener carries out requests and can say meanwhile that it
// lives, however long a disk takes.
#pragma once

#include <functional>
#include <memory>

#include "base/export.hpp"

namespace sheaf::sfio {

// One job at a time. All that belongs to a place happens at one moment in one thread, and can be seen by the
// next.
class Workplace {
 public:
  virtual ~Workplace() = default;
  // Returns when the job is done; throws what it throws. While it takes long, meanwhile() is called several
  // times a second, which touches nothing of the job's, returns soon and does not throw.
  virtual void carry_out(const std::function<void()>& job, const std::function<void()>& meanwhile) = 0;
};

// Does the job; never calls meanwhile(). For who need not say that he lives.
SHEAF_EXPORT std::unique_ptr<Workplace> own_place();
// Does the job in the calling thread, and has another one call meanwhile(): costs nothing, but both have to
// be allowed to talk.
SHEAF_EXPORT std::unique_ptr<Workplace> guarded_place();
// Does the job in another thread, and calls meanwhile() in the calling one: up to a third of the bandwidth of
// a fast disk.
SHEAF_EXPORT std::unique_ptr<Workplace> thread_place();
// Where no thread can be had, both are own_place().

}  // namespace sheaf::sfio
