// capture/shared_names: files in memory by which processes of a capturing job share what they have open. All
// have one begin.
#pragma once

#include <cstdint>
#include <string>

#include "base/export.hpp"
#include "base/non_copyable.hpp"

namespace sheaf {

// "/dev/shm/sheaf-capture.USER.HASH.", with the effective user of the process; rules: rules_hash(). A NUL
// ends it; size 64 is enough.
SHEAF_EXPORT void capture_prefix(uint64_t rules, char (&name)[64]) noexcept;

// Removes them, unless a process has them open. What first_of_job() knows stays while a RunOfCapture of this
// host with these rules exists.
SHEAF_EXPORT void remove_capture_memory(uint64_t rules) noexcept;

// A `sheaf run` of this host, which asks at its end what its programs have noted. The destructor removes the
// files in memory as remove_capture_memory() does, and what first_of_job() knows although processes that
// outlive the run have the other files open.
class SHEAF_EXPORT RunOfCapture : private NonCopyable {
 public:
  explicit RunOfCapture(uint64_t rules) noexcept;
  ~RunOfCapture();

 private:
  uint64_t rules_;
};

// True for the first call with `what` of a job on this host: for warnings. Needs no memory of the process.
SHEAF_EXPORT bool first_of_job(uint64_t rules, const char* what) noexcept;

// A program of this host has used a name that matches pattern `number`, counted from 0 over views, then
// captures; and whether one has.
SHEAF_EXPORT void note_pattern(uint64_t rules, int number) noexcept;
SHEAF_EXPORT bool is_pattern_noted(uint64_t rules, int number) noexcept;

}  // namespace sheaf
