// streams/capture/shared_names: memory-backed files that the processes of a capturing job share. Their names
// have a common prefix.
#pragma once

#include <cstdint>
#include <string>

#include "base/export.hpp"
#include "base/non_copyable.hpp"

namespace sheaf::streams {

// Writes the common prefix "/dev/shm/sheaf-capture.USER.HASH.", terminated by NUL, to `name`. USER is the
// effective user, HASH is `rules` from rules_hash(). 64 bytes are sufficient.
SHEAF_EXPORT void capture_prefix(uint64_t rules, char (&name)[64]) noexcept;

// Removes the files with the prefix of these rules, unless a process has them open. Keeps the files of
// first_of_job() while this host has a RunOfCapture with these rules.
SHEAF_EXPORT void remove_capture_memory(uint64_t rules) noexcept;

// Marks that a `sheaf run` is active on this host. The run evaluates the notes of its programs at its end, so
// the mark protects them from removal. The destructor removes the files as remove_capture_memory() does. It
// removes the files of first_of_job(), too, even if processes that outlive the run have other files open.
class SHEAF_EXPORT RunOfCapture : private NonCopyable {
 public:
  explicit RunOfCapture(uint64_t rules) noexcept;
  ~RunOfCapture();

 private:
  uint64_t rules_;
};

// Returns true for the first call with `what` in a job on this host; used for warnings. Allocates no memory
// in the process.
SHEAF_EXPORT bool first_of_job(uint64_t rules, const char* what) noexcept;

// note_pattern() records that a program of this host has used a name that matches pattern `number`.
// is_pattern_noted() returns whether this has happened. Numbers count from 0, first views, then captures.
SHEAF_EXPORT void note_pattern(uint64_t rules, int number) noexcept;
SHEAF_EXPORT bool is_pattern_noted(uint64_t rules, int number) noexcept;

}  // namespace sheaf::streams
