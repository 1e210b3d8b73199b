// container/gather: a set of containers as one ordinary multifile, one task per stream, whose trailer holds
// the names (docs/format.md, section 14.5).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "container/container_set.hpp"
#include "creation/work_progress.hpp"
#include "storage/file.hpp"

namespace sheaf {

struct GatherRequest {
  std::string set = {};     // NAME: the containers NAME.container.*, and the multifile NAME if it is there
  std::string output = {};  // the multifile; empty, or another spelling of it: NAME, and then the containers
                            // are removed when it is complete, also after a loss of power
  bool replace = false;     // an output that exists, other than NAME
  // Although processes of this host have the set open; what they write afterwards is lost
  bool force = false;
  std::string memory_directory = ContainerHost{}.memory_directory;  // as there
  int32_t fsblksize = 1;  // bytes; 1: streams lie one behind the other
  // Off: bytes that do not match the checksums of their container are taken as they are
  Checking checking = Checking::on;
};

struct GatherReport {
  int64_t streams = 0;
  int64_t bytes = 0;       // of streams
  int64_t containers = 0;  // that were read
  // What the multifile does not have, has zeros for, or has with a checksum that it does not match; in place
  // none
  std::vector<std::string> damage = {};
  std::vector<std::string> kept = {};  // which containers were kept under which names, and why
};

// The output appears complete or not at all; whatever fails, all streams are where they were. Order of tasks:
// by name. Holds the names and places of all streams. Checksums of containers are compared, and become those
// of the multifile. In place, a container that may have more than was found is kept under another name if a
// killed program may have left it so, else all are. Throws wrong_mode while others of this host have the set
// open (unless force), not_found if there are no containers, in place damaged if one of them cannot be read
// wholly or has bytes that do not match their checksums, and wrong_mode if a host has made another one
// meanwhile, no_space and what reading and writing throw.
SHEAF_EXPORT GatherReport gather(Store& store, const GatherRequest& request, WorkProgress& progress);

}  // namespace sheaf
