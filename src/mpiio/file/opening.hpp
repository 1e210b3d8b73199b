// mpiio/file/opening: the message that task 0 broadcasts when a file is opened. The message fits into one
// broadcast of a shared-memory barrier (comm/shm_barrier).
#pragma once

#include <cstdint>

#include "mpiio/file/hints.hpp"
#include "storage/filesystem/traits.hpp"
#include "storage/store.hpp"

namespace sheaf::mpiio {

struct OpeningMessage {
  int64_t opened;   // whether task 0 could open the file
  uint64_t id;      // identifies this open
  int64_t reports;  // number of targets for task 0's statistics
  FileSystemTraits traits;
  HintValues hints;
  char config_list[232];  // truncated if too long
  bool one_client;        // of the FilePlacement
  char data_host[256];    // host of the FilePlacement; empty if unknown or too long
};

void keep(const FilePlacement& placement, OpeningMessage& to);
void keep(const Hints& hints, OpeningMessage& to);
Hints hints_in(const OpeningMessage& opening);

}  // namespace sheaf::mpiio
