// capture/shared_names: files in memory by which processes of a capturing job share what they have open. All
// have one begin.
#pragma once

#include <cstdint>
#include <string>

#include "base/export.hpp"

namespace sheaf {

// "/dev/shm/sheaf-capture.USER.HASH.", with the effective user of the process; rules: rules_hash(). A NUL
// ends it; size 64 is enough.
SHEAF_EXPORT void capture_prefix(uint64_t rules, char (&name)[64]) noexcept;

// Removes them, unless a process has them open. For the end of a job.
SHEAF_EXPORT void remove_capture_memory(uint64_t rules) noexcept;

// True for the first call of a job on this host: for warnings. Needs no memory of the process.
SHEAF_EXPORT bool first_of_job(uint64_t rules) noexcept;

}  // namespace sheaf
