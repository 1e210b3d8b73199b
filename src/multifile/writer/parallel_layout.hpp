// multifile/writer/parallel_layout: lays out a physical file that processes with one task each write.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "multifile/writer/opened_set.hpp"

namespace sheaf::multifile {

// How a physical file is laid out, for one of its tasks.
struct GroupLayout {
  std::string_view base;                       // name stored in the file
  std::optional<format::Extension> extension;  // set at the first task
  bool is_new = false;                         // the file has no contents from before this open
  int64_t chunk_size = 0;                      // of this task
  NewGroups groups = {};
};

// Chooses the collectors and the chunk sizes if the tasks write collectively; `request` is the number of
// bytes that this task requested. Collectors open the file before it is changed. Collective over the tasks of
// the file. If one task fails, returns an error on all tasks.
std::optional<Error> form_groups(OpenedSet& set, int64_t request, GroupLayout& layout);
// Places the chunks and writes META1. The task must be loaded afterwards. `problem` is an earlier error of
// this task. Collective over all tasks.
void lay_out_group(OpenedSet& set, GroupLayout layout, std::optional<Error> problem);
// Changes the chunk sizes before the first write. The task must be loaded afterwards. Collective over all
// tasks. Throws wrong_mode on every task if any task has written.
void lay_out_again(OpenedSet& set, int64_t chunk_size);

// Returns the rows of this process's slice, if it has one. `slices` are the rows by rank of the file.
std::vector<Segment> own_segment(const OpenedSet& set, const MetadataPartition& slices);
// Returns how the rows of the file are divided among metadata writers.
inline Slicing slicing_of_group(const OpenedSet& set) {
  return set.files[0].boundary_blocks ? Slicing::whole : Slicing::groups;
}

}  // namespace sheaf::multifile
