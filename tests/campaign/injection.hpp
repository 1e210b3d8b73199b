// injection: the failure that a case of the campaign injects, drawn from a seed (docs/testing.md, "Fault
// campaign").
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "support/multifile_model.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::campaign {

enum class Failure : uint8_t {
  none,
  once,                 // one operation fails
  several,              // two to five operations fail
  from_then_on,         // an operation and all later ones fail
  killed,               // the job dies at an operation
  power_lost,           // the job dies at an operation, and unsynced bytes may be lost
  host_lost,            // the job dies at an operation, and one host loses its cached bytes
  read_only_directory,  // after an operation, no file can be created, renamed or removed
  second_job,           // another program opens the file between two calls
};
const char* name_of(Failure failure);

struct Injection {
  Failure failure = Failure::none;
  FaultPlan plan;   // plan of the faulty store
  uint64_t at = 0;  // second_job: the call before which the other program opens the file
  uint64_t seed = 0;

  bool ends_job() const {
    return failure == Failure::killed || failure == Failure::power_lost || failure == Failure::host_lost;
  }
  std::string describe() const;
};

// Draws one of the failures `kinds` and its time for case `seed`. `operations` and `calls` are the numbers of
// operations of the store and of calls in a run of the program without failures.
Injection draw_injection(uint64_t seed, std::initializer_list<Failure> kinds, int64_t operations,
                         int64_t calls);

}  // namespace sheaf::test::campaign
