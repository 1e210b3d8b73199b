// storage/probes: determines by experiments what a file system does, for `sheaf doctor`. Programs use traits
// instead.
//
// The experiments create files under unique names in the directories and always remove them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/export.hpp"
#include "storage/filesystem/traits.hpp"

namespace sheaf {

struct DirectoryFindings {
  std::string obstacle;  // why the directory could not be probed; empty: no obstacle
  bool fallocate = false;
  bool mmap = false;
};

SHEAF_EXPORT DirectoryFindings probe_directory(const std::string& directory);

// Number of attempts and of successes.
struct Tried {
  int times = 0;
  int well = 0;
  bool always() const { return well == times; }
};

// Results for two views of one directory, for example on two hosts. Each experiment writes through one view
// and reads through the other; some run in both directions.
struct PairFindings {
  Tried after_close;      // written and closed, then opened and read: the new data were read
  Tried after_sync;       // written and synced, then opened and read
  Tried at_once;          // written, then opened and read
  Tried kept_open;        // written, then read through a file already open and read before
  Tried kept_open_after;  // likewise, after the writer has closed
  Tried page;             // each side wrote a part of one page: both parts arrived
  Tried create;           // both created one name at once, non-exclusively: both got the same file
  Tried exclusive;        // both created one name at once, exclusively: exactly one succeeded
  // Seconds until the other view showed a new file size; empty if it did not within max_attribute_delay.
  std::optional<double> attribute_delay;
  LockScope locks = LockScope::none;
  double sharing_cost = 1;  // time to write alternately into one unit, relative to separate units

  bool is_coherent() const {
    return at_once.always() && kept_open.always() && kept_open_after.always() && page.always();
  }
  bool is_close_to_open() const { return after_close.always() && after_sync.always(); }
};

constexpr double max_attribute_delay = 5;  // seconds

// Runs the experiments on `here` and `there`, two views of one directory. `unit` is the shared granularity in
// bytes. Calls `check` between experiments; it may throw to stop. Throws invalid_argument if a file created
// in one directory is not visible in the other, and the errors of the file system.
SHEAF_EXPORT PairFindings probe_pair(const std::string& here, const std::string& there, int64_t unit,
                                     const std::function<void()>& check);

}  // namespace sheaf
