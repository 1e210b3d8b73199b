// storage/filesystem/traits: the properties of file systems, in one place.
//
// No other code in Sheaf asks what a file system is. One task per physical file determines the traits at open
// (Store::traits) and sends them to the other tasks. All code that depends on a file system uses them.
// Unknown file systems get the most cautious values in use. Sheaf then assumes that other hosts see bytes
// only after a close and a new open, and that locks reach only tasks of the same host.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/export.hpp"
#include "storage/filesystem/mounts.hpp"

namespace sheaf {

enum class FileSystem : uint8_t {
  unknown,
  memory,  // a Store's own
  // Of a single host.
  ext4,
  xfs,
  btrfs,
  f2fs,
  zfs,
  bcachefs,
  tmpfs,
  ramfs,
  overlayfs,
  fuseblk,
  // Cluster file systems, mostly coherent.
  lustre,
  gpfs,
  ceph,
  beegfs,
  gfs2,
  ocfs2,
  // Shared by hosts with separate caches.
  nfs,
  smb,
  p9,
  virtiofs,
  orangefs,
  // Likewise, through FUSE.
  glusterfs,
  moosefs,
  juicefs,
  sshfs,
  daos,
  ceph_fuse,
  fuse,  // any other type
};

// Visibility of bytes that another process has written.
enum class Coherence : uint8_t {
  local,          // all processes that can open the file share one page cache
  coherent,       // as with one shared page cache, on all hosts
  close_to_open,  // another host is sure to see bytes only in an open after they were closed or synced
};

// Reach of a lock on a range of a file.
enum class LockScope : uint8_t {
  none,    // no locks
  host,    // tasks of the same host
  global,  // all tasks that can open the file
};

struct FileSystemTraits {
  FileSystem kind = FileSystem::unknown;  // for messages and for the questions below
  Coherence coherence = Coherence::close_to_open;
  LockScope locks = LockScope::host;
  // Shared granularity in bytes > 0: two hosts must not both write to one aligned unit of this size.
  int64_t unit = 64 << 10;
  int64_t stripes = 1;      // servers or disks that hold a new file; 0: unknown
  int64_t stripe_size = 0;  // bytes per server before the next one follows; 0: not striped
  bool fallocate = false;   // space can be allocated ahead
  bool mmap = false;        // shared mappings are writable and agree with read and write

  // Returns true if one page cache serves all processes that can open the file.
  bool is_local() const { return coherence == Coherence::local; }
  // Returns true if other hosts must revalidate before they see published bytes.
  bool needs_revalidation() const { return coherence == Coherence::close_to_open; }
  bool operator==(const FileSystemTraits&) const = default;
};

SHEAF_EXPORT const char* name_of(FileSystem kind);  // as mount(8) names it; static storage
SHEAF_EXPORT const char* name_of(Coherence coherence);
SHEAF_EXPORT const char* name_of(LockScope locks);

// Returns one line for users: "nfs: close-to-open, locks global, unit 64 KiB, fallocate yes, mmap no".
SHEAF_EXPORT std::string to_string(const FileSystemTraits& traits);

// --- Knowledge about file systems: pure functions.

// Returns the kind of file system for f_type of statfs(2). FUSE types, and file systems without a number of
// their own, are known only from their mount (kind_of()).
FileSystem kind_of_magic(int64_t magic);

// Returns the kind of file system for f_type of statfs(2) and, for FUSE types and unknown numbers, the mount.
FileSystem kind_of(int64_t magic, const std::optional<Mount>& mount);

// Returns the traits of a kind of file system with these mount options. `block` is st_blksize in bytes.
FileSystemTraits traits_of_kind(FileSystem kind, const std::optional<Mount>& mount, int64_t block);

// Returns true if an open makes visible what other hosts have closed before, whatever this host has cached.
// Returns false for unknown kinds and for kinds that may keep pages across an open: all FUSE types, 9p,
// virtiofs and OrangeFS.
bool opens_anew(FileSystem kind);

// Returns true if a task that writes through one descriptor reads its bytes, and the new file size, through a
// second one before they reach the server. MooseFS does not. Returns false for kinds of which this is not
// known.
bool finds_own_writes(FileSystem kind);

// Returns true if files of one directory may have different layouts, which determine their shared
// granularity.
bool lays_out_files(FileSystem kind);

// Returns true for CephFS, by its kernel client or by FUSE.
bool is_ceph(FileSystem kind);

// Returns true if programs reach the file system through FUSE.
bool is_fuse(FileSystem kind);

// For file systems through FUSE, returns true if the server alone determines a file's length, whatever
// descriptors are open. With MooseFS, a descriptor keeps the greatest length that was written, even after a
// truncation.
bool forgets_lengths(FileSystem kind);

// Returns true if closing any descriptor of a file publishes its bytes. All close-to-open file systems
// promise this, but the result is true only for kinds that are known to do it and to report write errors at
// that point.
bool closes_publish(FileSystem kind);

// Applies a BeeGFS client configuration (beegfs-client.conf, or /proc/fs/beegfs/*/config).
void apply_beegfs_config(FileSystemTraits& traits, std::string_view config);

// Apply the layout of a file or directory from its extended attribute: lustre.lov (bytes of struct lov_mds_md
// or lov_comp_md) or ceph.file.layout (text). Return false, and change nothing, if it is invalid.
bool apply_lustre_layout(FileSystemTraits& traits, std::span<const std::byte> attribute);
bool apply_ceph_layout(FileSystemTraits& traits, std::string_view attribute);

// Applies overrides given by users, separated by commas: local, coherent, close-to-open;
// locks=none|host|global, unit=SIZE, stripes=N, stripe=SIZE, fallocate=yes|no, mmap=yes|no. Stores the first
// invalid word in `unknown`; valid words are applied.
void apply_words(FileSystemTraits& traits, std::string_view words, std::string* unknown);
SHEAF_EXPORT std::string_view known_traits_words();

// --- Queries to the system.

// Returns the traits of the file system that holds the descriptor's file or directory (also O_PATH). Never
// throws for missing information. SHEAF_FS, with the words above, overrides the results; an invalid word
// causes one warning. Mounts are cached for a few seconds.
FileSystemTraits traits_of_descriptor(int fd);

// Returns true if other hosts may see the file or directory `path`, judging by the kind of file system alone.
// Makes one system call and allocates no memory. Unknown kinds count as visible.
bool may_be_shared_by_hosts(const char* path) noexcept;

// Returns the traits for a file or directory; for a file that does not exist, those of its directory. `open`
// opens a name with O_PATH and returns like open(2); `shown` replaces the path in messages. Throws
// not_found if that directory does not exist either, and other errors of open(2).
FileSystemTraits traits_of_path(const std::string& path, const std::string& shown,
                                const std::function<int(const std::string& name)>& open);

// Returns the kind of an open file's file system, with one system call.
FileSystem kind_of_descriptor(int fd);

}  // namespace sheaf
