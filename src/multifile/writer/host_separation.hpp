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
  FileSystemTraits traits{.coherence = Coherence::local};
  bool everywhere = false;  // the traits are valid for all files of the directory

  static HostSeparation by(const FileSystemTraits& traits) {
    return {traits, !traits.is_local() && !lays_out_files(traits.kind)};
  }
  // Returns true if hosts have page caches of their own. Unlike VisibilityPolicy::has_own_caches(), also true
  // for a coherent file system, where a lost host loses the bytes in its cache.
  bool own_caches() const { return !traits.is_local(); }
  // Returns the shared granularity in bytes; 0 if hosts may share every block.
  int64_t unit() const { return own_caches() && traits.unit > 1 ? traits.unit : 0; }
};

// Returns the properties of the directory of the multifile, which process 0 queries and broadcasts.
// Collective.
HostSeparation find_separation(Store& store, Comm& comm, const std::string& path);
// Determines the hosts of the tasks, and the shared granularity that they must respect. Collective.
void find_hosts_of_set(OpenedSet& set);
inline Slicing slicing_of(const WritingHosts& hosts) {
  return hosts.unit > 0 ? Slicing::files : Slicing::groups;
}
// Returns the partition of the mapping by task number. Local.
inline std::unique_ptr<MetadataPartition> partition_mapping(const OpenedSet& set) {
  return std::make_unique<MetadataPartition>(*set.comm, set.ntasks,
                                             set.hosts.unit > 0 ? Slicing::whole : Slicing::groups);
}
// Returns null unless hosts must be kept apart.
std::shared_ptr<BoundaryBlocks> boundary_blocks_of(const OpenedSet& set, int32_t file);
// Sets the JournalKey of a physical file of this process.
void know_journal(const OpenedSet& set, OwnFile& file, const format::Header& header,
                  const std::optional<format::Extension>& extension);
// Sets up the boundary blocks after all chunks are placed. Collective. Requires PlacedTables.
void keep_hosts_apart(OpenedSet& set);

}  // namespace sheaf::multifile
