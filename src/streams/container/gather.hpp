// streams/container/gather: converts a set of containers to one ordinary multifile with one task per stream.
// The trailer of the multifile holds the names (docs/format.md, section 14.5).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "multifile/create/work_progress.hpp"
#include "storage/file.hpp"
#include "streams/container/container_set.hpp"

namespace sheaf::streams {

struct GatherRequest {
  std::string set = {};     // NAME: the containers NAME.container.* and, if it exists, the multifile NAME
  std::string output = {};  // the multifile. Empty, or another spelling of NAME: in place; the containers are
                            // removed once the multifile is complete and durable
  bool replace = false;     // overwrite an existing output other than NAME
  // Gather even if processes of this host have the set open. The later writes of these processes are lost.
  bool force = false;
  std::string memory_directory = ContainerHost{}.memory_directory;  // as in ContainerHost
  int32_t fsblksize = 1;  // bytes; 1: streams are concatenated without gaps
  // With `off`, bytes are copied even if they do not match the checksums of their container.
  multifile::Checking checking = multifile::Checking::on;
};

struct GatherReport {
  int64_t streams = 0;
  int64_t bytes = 0;       // total size of the streams
  int64_t containers = 0;  // containers read
  // Descriptions of damage: content that the multifile lacks, replaces by zeros, or stores with a checksum
  // that does not match. Empty when gathering in place.
  std::vector<std::string> damage = {};
  std::vector<std::string> kept = {};  // containers that were kept, their new names, and the reasons
};

// Writes all streams of a set to a multifile, ordered by name. The output appears completely or not at all;
// on failure, all streams stay where they were. Memory: the names and places of all streams.
//
// Checksums of the containers are verified and become those of the multifile. If a killed program may have
// left a container with records that cannot be found, a gather in place keeps that container under another
// name. In all other cases of damage, a gather in place fails, and every container stays.
//
// Throws `wrong_mode` if other processes of this host have the set open (unless `force`), or if another host
// created a container during the call. Throws `not_found` if the set has no containers, `no_space`, and the
// errors of reading and writing. In place, also throws `damaged` if a container is not completely readable or
// has bytes that do not match their checksums.
SHEAF_EXPORT GatherReport gather(Store& store, const GatherRequest& request,
                                 multifile::WorkProgress& progress);

}  // namespace sheaf::streams
