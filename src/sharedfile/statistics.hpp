// sharedfile/statistics: what happened to a shared file, summed over its tasks at close.
#pragma once

#include <cstdint>
#include <string>

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

// Collective. `wish`: what SHEAF_STATS says, the same on all tasks; nothing happens if it is empty. Adds up
// over the tasks; task 0 prints on its standard error ("1"), or appends a line of JSON to a
// file of `store` ("json:path"), and alone throws if it cannot.
void report(Comm& comm, Store& store, const Statistics& statistics, const std::string& path,
            const std::string& wish);

}  // namespace sheaf
