// storage/traits/traits: what a file system does and likes, in one place.
//
// Nothing else in Sheaf asks what a file system is. One task per physical file finds the traits at the open
// (Store::traits) and sends them to the others with what they agree on; everything that depends on a file
// system asks them. What is unknown is taken for the worst that is in use: other hosts see bytes when a file
// was closed and opened again, and locks end at the host.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/export.hpp"
#include "storage/traits/mounts.hpp"

namespace sheaf {

enum class FileSystem : uint8_t {
  unknown,
  memory,  // a Store's own
  // of one machine
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
  // of clusters, coherent in the main
  lustre,
  gpfs,
  ceph,
  beegfs,
  gfs2,
  ocfs2,
  // seen by many hosts through caches of their own
  nfs,
  smb,
  p9,
  virtiofs,
  orangefs,
  // the same, reached by FUSE
  glusterfs,
  moosefs,
  juicefs,
  sshfs,
  daos,
  ceph_fuse,
  fuse,  // of any other type
};

// What is seen of bytes that another process has written.
enum class Coherence : uint8_t {
  local,          // all processes that can open the file share one page cache
  coherent,       // as if they did, on all hosts
  close_to_open,  // on another host only what is opened after it was closed or synced is sure to show it
};

// Whom a lock of a range of a file keeps out.
enum class LockScope : uint8_t {
  none,    // nobody: there are none
  host,    // tasks of the same host
  global,  // everybody who can open the file
};

struct FileSystemTraits {
  FileSystem kind = FileSystem::unknown;  // for messages, and for storage itself
  Coherence coherence = Coherence::close_to_open;
  LockScope locks = LockScope::host;
  // Bytes > 0: a part of a file, from a multiple on, that two hosts should not both write to
  int64_t unit = 64 << 10;
  int64_t stripes = 1;      // servers or disks that a new file is spread over; 0: not known
  int64_t stripe_size = 0;  // bytes that go to one before the next one has its turn; 0: it is not spread
  bool fallocate = false;   // room can be set aside
  bool mmap = false;        // shared mappings can be written to, and agree with read and write
  bool operator==(const FileSystemTraits&) const = default;
};

SHEAF_EXPORT const char* name_of(FileSystem kind);  // as mount(8) says it; static storage
SHEAF_EXPORT const char* name_of(Coherence coherence);
SHEAF_EXPORT const char* name_of(LockScope locks);

// One line for people: "nfs: close-to-open, locks global, unit 64 KiB, fallocate yes, mmap no".
SHEAF_EXPORT std::string to_string(const FileSystemTraits& traits);

// --- What is known of file systems: pure functions.

// By f_type of statfs(2); FUSE and what has no number of its own need their mount.
FileSystem kind_of_magic(int64_t magic);

// The same, more exactly where the mount tells: the types of FUSE, and unknown numbers.
FileSystem kind_of(int64_t magic, const std::optional<Mount>& mount);

// What such a file system does where it is mounted like this. `block`: st_blksize in bytes.
FileSystemTraits traits_of_kind(FileSystem kind, const std::optional<Mount>& mount, int64_t block);

// Whether who opens a file sees what others have closed before, whatever this host has kept of it. FUSE lets
// a file system keep its pages over an open, which GlusterFS does, and so does 9p.
bool opens_anew(FileSystem kind);

// Whether a task that writes by one descriptor and reads by another finds what it wrote, with the file's
// size, before that is at the server. With MooseFS it does not; of what is not listed it is not known.
bool finds_own_writes(FileSystem kind);

// Whether files of a directory may be laid out each in another way, which decides their units.
bool lays_out_files(FileSystem kind);

// CephFS, by its own client in the kernel or by FUSE.
bool is_ceph(FileSystem kind);

// Whether programs reach it by FUSE.
bool is_fuse(FileSystem kind);

// FUSE: whether a file is as long as its server says, whatever descriptors are open. For MooseFS it is as
// long as they have ever written, whoever has made it shorter since.
bool forgets_lengths(FileSystem kind);

// Whether what was written is at the server when any descriptor of the file is closed. Close-to-open says so,
// but known to do it, and to tell then what could not be written, are those that are listed.
bool closes_publish(FileSystem kind);

// BeeGFS: what its client's configuration says (beegfs-client.conf, or /proc/fs/beegfs/*/config).
void apply_beegfs_config(FileSystemTraits& traits, std::string_view config);

// Layouts of files and directories, as their extended attributes lustre.lov (bytes of struct lov_mds_md or
// lov_comp_md) and ceph.file.layout (text) have them. False, and nothing is changed, where they are none.
bool apply_lustre_layout(FileSystemTraits& traits, std::span<const std::byte> attribute);
bool apply_ceph_layout(FileSystemTraits& traits, std::string_view attribute);

// Words with commas that people put above what was found: local, coherent, close-to-open;
// locks=none|host|global, unit=SIZE, stripes=N, stripe=SIZE, fallocate=yes|no, mmap=yes|no. The first
// one that is none of these ends up in `unknown`; the others count.
void apply_words(FileSystemTraits& traits, std::string_view words, std::string* unknown);
SHEAF_EXPORT std::string_view known_traits_words();

// --- What is asked of the system.

// Traits of the file system in which the descriptor's file or directory lies (O_PATH will do). Never throws
// for what a file system does not tell. SHEAF_FS, words as above, counts more than what is found; what is not
// understood there is told once. Mounts are read again when what was read is older than some seconds.
FileSystemTraits traits_of_descriptor(int fd);

// Whether other hosts may see that file or directory, by its kind of file system alone: one system call, no
// memory. What is not known may be.
bool may_be_shared_by_hosts(const char* path) noexcept;

// The same for a file or directory; for a file that does not exist, those of the directory it would be in.
// `open` opens a name with O_PATH and answers as open(2); `shown` stands for the path in messages. Throws
// not_found where there is no such directory either, and what else open(2) says.
FileSystemTraits traits_of_path(const std::string& path, const std::string& shown,
                                const std::function<int(const std::string& name)>& open);

// Kind of an open file's file system, by one system call.
FileSystem kind_of_descriptor(int fd);

}  // namespace sheaf
