// multifile/writer/host_separation: finds what hosts without a common page cache must keep apart, and sets up
// boundary blocks for processes with several tasks (layout/regions, multifile/metadata/boundary_blocks).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "multifile/writer/opened_set.hpp"
#include "storage/filesystem/traits.hpp"

namespace sheaf::multifile {

// Properties of a file system that require separating the bytes of different hosts. One task finds them and
// broadcasts them.
struct HostSeparation {
  int64_t unit = 0;
  int64_t own_caches = 0;
  int64_t kind = 0;        // FileSystem
  int64_t everywhere = 0;  // 1: the values are valid for all files of the directory

  static HostSeparation by(const FileSystemTraits& traits);
};

// Returns the properties of the directory of the multifile, which process 0 queries and broadcasts.
// Collective.
HostSeparation find_separation(Store& store, Comm& comm, const std::string& path);
// Determines the hosts of the tasks, and the shared granularity that they must respect. Collective.
void find_hosts_of_set(OpenedSet& set);
inline Slicing slicing_of(const WritingHosts& hosts) {
  return hosts.unit > 0 ? Slicing::files : Slicing::groups;
}
// Returns null unless hosts must be kept apart.
std::shared_ptr<BoundaryBlocks> boundary_blocks_of(const OpenedSet& set, int32_t file);
// Sets the JournalKey of a physical file of this process.
void know_journal(const OpenedSet& set, OwnFile& file, const format::Header& header,
                  const std::optional<format::Extension>& extension);
// Sets up the boundary blocks after all chunks are placed. Collective. Requires PlacedTables.
void keep_hosts_apart(OpenedSet& set);

}  // namespace sheaf::multifile
