// sharedfile/statistics: what happened to a shared file, summed over its tasks at close.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "exchange/transfer/tally.hpp"
#include "storage/file.hpp"

namespace sheaf {

// What transfers did, and what the program asked for.
struct Statistics : exchange::Tally {
  int64_t independent_writes = 0, independent_reads = 0;  // operations of the program
  int64_t collective_writes = 0, collective_reads = 0;    // as calls of single tasks
  int64_t bytes_written = 0, bytes_read = 0;              // of the program's data
  int64_t pieces = 0;  // pieces of the file that the program's operations named, before merging

  // All numbers are added but for the aggregators, of which the most in one call count.
  void add(const Statistics& other);
  std::string text(const std::string& path, int tasks) const;
  std::string json(const std::string& path, int tasks) const;
};

// Where the environment of this task asks for statistics, as in SHEAF_STATS: "json:PATH", or anything else
// for the standard error. SHEAF_MPIIO_STATS, which `sheaf mpiio --report` sets, asks in addition to it.
std::vector<std::string> statistics_targets();

// Collective. Adds up over the tasks. Task 0 prints on its standard error, or appends a line of JSON to a
// file of `store`, for each of its `targets`, and alone throws the first error after all have been tried.
void report(Comm& comm, Store& store, const Statistics& statistics, const std::string& path,
            const std::vector<std::string>& targets);

}  // namespace sheaf
