// mpiio/file/statistics: counters of a shared file, summed over its tasks at close.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "exchange/transfer/io_counters.hpp"
#include "storage/file.hpp"

namespace sheaf::mpiio {

// Counters of transfers and of the program's operations.
struct Statistics : exchange::IoCounters {
  int64_t independent_writes = 0, independent_reads = 0;  // operations of the program
  int64_t collective_writes = 0, collective_reads = 0;    // as calls of single tasks
  int64_t bytes_written = 0, bytes_read = 0;              // payload of the program
  int64_t pieces = 0;  // extents that the program's operations named, before merging

  // Adds all counters, except for `aggregators`, which becomes the maximum.
  void add(const Statistics& other);
  std::string text(const std::string& path, int tasks) const;
  std::string json(const std::string& path, int tasks) const;
};

// Returns the targets that the environment of this task requests with SHEAF_STATS: "json:PATH", or any other
// word for the standard error. SHEAF_MPIIO_STATS, set by `sheaf mpiio --report`, adds a target.
std::vector<std::string> statistics_targets();

// Collective. Sums the counters over the tasks. For each of its `targets`, task 0 prints to standard error or
// appends a line of JSON to a file of `store`. After trying all targets, task 0 alone throws the first error.
void report(Comm& comm, Store& store, const Statistics& statistics, const std::string& path,
            const std::vector<std::string>& targets);

}  // namespace sheaf::mpiio
