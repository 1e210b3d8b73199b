// sharedfile/statistics: what happened to a shared file, summed over its tasks at close.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "comm/comm.hpp"
#include "exchange/transfer/tally.hpp"
#include "storage/store.hpp"

namespace sheaf {

struct Statistics {
  int64_t independent_writes = 0, independent_reads = 0;  // operations of the program
  int64_t collective_writes = 0, collective_reads = 0;    // as calls of single tasks
  int64_t bytes_written = 0, bytes_read = 0;              // of the program's data
  int64_t pieces = 0;    // pieces of the file that the program's operations named, before merging
  int64_t requests = 0;  // reads and writes that went to the file, after merging
  int64_t file_bytes_written = 0, file_bytes_read = 0;  // by these requests
  int64_t exchanged_bytes = 0;  // that went to another task, through memory or messages
  int64_t direct_calls = 0, exchange_calls = 0, sieve_calls = 0;  // how operations were carried out
  int64_t plans_made = 0, plans_reused = 0;
  int64_t aggregators = 0;  // largest number in one call (a maximum, not a sum)
  int64_t exchange_ns = 0,
          file_ns = 0;  // time in tasks, summed: moving bytes between tasks, and in calls of the file

  std::span<int64_t> numbers() {
    return {&independent_writes, static_cast<size_t>(&file_ns - &independent_writes) + 1};
  }

  std::string text(const std::string& path, int tasks) const;
  std::string json(const std::string& path, int tasks) const;
};

// Adds what one transfer of this task did.
void add(Statistics& to, const exchange::Tally& from);

// Collective. `wish`: what SHEAF_STATS says, the same on all tasks; nothing happens if it is empty. Adds up
// over the tasks, in `statistics`; task 0 prints on its standard error ("1"), or appends a line of JSON to a
// file of `store` ("json:path"), and alone throws if it cannot.
void report(Comm& comm, Store& store, Statistics& statistics, const std::string& path,
            const std::string& wish);

}  // namespace sheaf
