// api/sion/mapped: mapped opens, for every kind of Comm.
#pragma once

#include <cstdio>
#include <memory>

#include "base/export.hpp"
#include "comm/comm.hpp"
#include "multifile/metadata/facts.hpp"
#include "storage/file.hpp"

namespace sheaf::api {

// Arguments of a mapped open, as in the C interface (sion_mpi.h).
struct MappedOpen {
  const char* function;
  const char* fname;
  const char* file_mode;
  int* numfiles;
  int* nlocaltasks;
  int** globalranks;
  long long** chunksizes;
  int** filenumbers;
  int** local_ranks;
  int* fsblksize;
  FILE** fileptr;
  bool shares = false;             // as in ParallelOpen
  multifile::NameOf name_of = {};  // names of physical files if they differ from the format's
};

// Opens a mapped multifile. Collective over `comm`. Returns a sid, or -1 on every process.
SHEAF_EXPORT int open_mapped(std::unique_ptr<Comm> comm, const MappedOpen& call);

}  // namespace sheaf::api
