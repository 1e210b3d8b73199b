// storage/probes: what a file system does when it is tried, for `sheaf doctor`. Programs do not try: they ask
// for traits.
//
// Files are made under names of their own in the directories, and removed whatever happens.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/export.hpp"
#include "storage/traits/traits.hpp"

namespace sheaf {

struct DirectoryFindings {
  std::string obstacle;  // why nothing could be tried; empty: none
  bool fallocate = false;
  bool mmap = false;
};

SHEAF_EXPORT DirectoryFindings probe_directory(const std::string& directory);

// How often something was tried, and came out well.
struct Tried {
  int times = 0;
  int well = 0;
  bool always() const { return well == times; }
};

// Two views of one directory. What was written through one of them is read through the other, each in turn.
struct PairFindings {
  Tried after_close;      // written and closed, then opened and read: fresh
  Tried after_sync;       // written and synced, then opened and read
  Tried at_once;          // written, then opened and read
  Tried kept_open;        // written, then read in a file that had been open, and read, before
  Tried kept_open_after;  // the same once it was closed
  Tried page;             // each side wrote a part of one page: both parts are there
  Tried create;  // both made one name at once, neither insisting on being the first: both have the same file
  Tried exclusive;                        // both did, insisting: one of them succeeded
  std::optional<double> attribute_delay;  // s until the other side told a new size of a file; nothing: longer
                                          // than it was waited
  LockScope locks = LockScope::none;
  double sharing_cost = 1;  // time of writing in turn into one unit, over that of writing into a unit each

  bool is_coherent() const {
    return at_once.always() && kept_open.always() && kept_open_after.always() && page.always();
  }
  bool is_close_to_open() const { return after_close.always() && after_sync.always(); }
};

constexpr double most_attribute_delay = 5;  // s

// `unit` in bytes. `check` is called now and then, and may throw to end it. Throws invalid_argument if what
// is made in one of the directories is not found in the other, and what the file system reports.
SHEAF_EXPORT PairFindings probe_pair(const std::string& here, const std::string& there, int64_t unit,
                                     const std::function<void()>& check);

}  // namespace sheaf
