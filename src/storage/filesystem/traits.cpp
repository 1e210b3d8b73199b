// storage/filesystem/traits: the table of file systems, and the effects of mount options.
#include "storage/filesystem/traits.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "base/parse.hpp"

namespace sheaf {

namespace {

constexpr int64_t KiB = 1 << 10;
constexpr int64_t MiB = 1 << 20;

// Hosts have pages of 4 to 64 KiB and may write back whole pages.
constexpr int64_t page_of_any_host = 64 * KiB;
constexpr int64_t min_unit = 4 * KiB;
constexpr int64_t max_block = 64 * MiB;  // larger preferred blocks are ignored

struct TraitsRow {
  FileSystem kind;
  const char* name;
  int64_t magic;      // f_type; 0: identified by the mount type only
  const char* types;  // mount types, separated by commas
  Coherence coherence;
  LockScope locks;
  int64_t unit;  // 0: st_blksize
  bool fallocate;
  bool mmap;
  const char* local_locks = "";  // the mount option that limits locks to the host
};

// Object stores have the object or chunk size as their unit: MooseFS lets one host write to a chunk at a
// time, CephFS stores objects. `coherent` marks file systems that promise coherence when several hosts write
// one file; docs/tuning.md gives the evidence for each row. ceph-fuse is not coherent, because the kernel
// keeps pages that the client has dropped.
std::span<const TraitsRow> all_rows() {
  using enum Coherence;
  using enum LockScope;
  constexpr int64_t block = 0;  // st_blksize
  // clang-format off
  static constexpr TraitsRow rows[] = {
      {FileSystem::unknown, "unknown", 0, "", close_to_open, host, page_of_any_host, false, false},
      {FileSystem::memory, "memory", 0, "", local, global, min_unit, false, false},
      {FileSystem::ext4, "ext4", 0xEF53, "ext4,ext3,ext2", local, global, block, true, true},
      {FileSystem::xfs, "xfs", 0x58465342, "xfs", local, global, block, true, true},
      {FileSystem::btrfs, "btrfs", 0x9123683E, "btrfs", local, global, block, true, true},
      {FileSystem::f2fs, "f2fs", 0xF2F52010, "f2fs", local, global, block, true, true},
      {FileSystem::zfs, "zfs", 0x2FC12FC1, "zfs", local, global, block, false, true},
      {FileSystem::bcachefs, "bcachefs", 0xCA451A4E, "bcachefs", local, global, block, true, true},
      {FileSystem::tmpfs, "tmpfs", 0x01021994, "tmpfs", local, global, min_unit, true, true},
      {FileSystem::ramfs, "ramfs", 0x858458F6, "ramfs,rootfs", local, global, min_unit, false, true},
      {FileSystem::overlayfs, "overlay", 0x794C7630, "overlay", local, global, block, true, true},
      {FileSystem::fuseblk, "fuseblk", 0, "fuseblk", local, global, block, false, true},
      {FileSystem::lustre, "lustre", 0x0BD00BD0, "lustre", coherent, none, MiB, false, true},
      {FileSystem::gpfs, "gpfs", 0x47504653, "gpfs", coherent, global, block, false, true},
      {FileSystem::ceph, "ceph", 0x00C36400, "ceph", coherent, global, 4 * MiB, false, false},
      {FileSystem::beegfs, "beegfs", 0x19830326, "beegfs", close_to_open, host, 512 * KiB, false, false},
      {FileSystem::gfs2, "gfs2", 0x01161970, "gfs2", coherent, global, block, true, true, "localflocks"},
      {FileSystem::ocfs2, "ocfs2", 0x7461636F, "ocfs2", coherent, host, block, true, true},
      {FileSystem::nfs, "nfs", 0x6969, "nfs,nfs4", close_to_open, host, page_of_any_host, false, false},
      {FileSystem::smb, "cifs", 0xFF534D42, "cifs,smb3,smbfs", close_to_open, host, page_of_any_host, false, false},
      {FileSystem::p9, "9p", 0x01021997, "9p", close_to_open, host, page_of_any_host, false, false},
      {FileSystem::virtiofs, "virtiofs", 0, "virtiofs", close_to_open, host, page_of_any_host, false, false},
      {FileSystem::orangefs, "orangefs", 0x20030528, "orangefs,pvfs2", close_to_open, none, page_of_any_host, false, false, "local_lock"},
      {FileSystem::glusterfs, "glusterfs", 0, "fuse.glusterfs", close_to_open, global, 128 * KiB, false, false},
      {FileSystem::moosefs, "moosefs", 0, "fuse.mfs,fuse.moosefs,moosefs,fuse.lizardfs,fuse.saunafs", close_to_open, global, 64 * MiB,
       false, false, "mfsnoposixlocks"},
      {FileSystem::juicefs, "juicefs", 0, "fuse.juicefs", close_to_open, global, 4 * MiB, false, false},
      {FileSystem::sshfs, "sshfs", 0, "fuse.sshfs", close_to_open, host, page_of_any_host, false, false},
      {FileSystem::daos, "daos", 0, "fuse.daos,fuse.dfuse", close_to_open, host, MiB, false, false},
      {FileSystem::ceph_fuse, "ceph-fuse", 0, "fuse.ceph,fuse.ceph-fuse", close_to_open, global, 4 * MiB, false, false},
      {FileSystem::fuse, "fuse", 0x65735546, "fuse", close_to_open, host, page_of_any_host, false, false},
  };
  // clang-format on
  static_assert(std::size(rows) == static_cast<size_t>(FileSystem::fuse) + 1);
  return rows;
}

constexpr int64_t smb2_magic = 0xFE534D42;
constexpr int64_t smb1_magic = 0x517B;

const TraitsRow& row_of(FileSystem kind) { return *std::ranges::find(all_rows(), kind, &TraitsRow::kind); }

bool has_type(const TraitsRow& row, std::string_view type) {
  for (std::string_view rest = row.types; !rest.empty();)
    if (take_word(rest) == type) return true;
  return false;
}

// MooseFS and its derivatives are identified by the mount source: "mfs#master:9421".
bool is_moosefs(const Mount& mount) {
  return std::ranges::any_of(std::array{"mfs#", "sfs#", "mfsmount#", "MooseFS", "moosefs"},
                             [&](const char* begin) { return mount.source.starts_with(begin); });
}

// Without the mount, the client's lock behavior is unknown.
LockScope nfs_locks(const std::optional<Mount>& mount) {
  if (!mount || mount->has("nolock")) return LockScope::host;
  const auto kept_here = mount->option("local_lock");
  return kept_here && (*kept_here == "none" || *kept_here == "flock") ? LockScope::global : LockScope::host;
}

// A client mounted with neither lock option refuses locks.
LockScope lustre_locks(const std::optional<Mount>& mount) {
  if (!mount || mount->has("localflock")) return LockScope::host;
  return mount->has("flock") && !mount->has("noflock") ? LockScope::global : LockScope::none;
}

LockScope locks_of(const TraitsRow& row, const std::optional<Mount>& mount) {
  if (row.kind == FileSystem::nfs) return nfs_locks(mount);
  if (row.kind == FileSystem::lustre) return lustre_locks(mount);
  const bool at_host = mount && *row.local_locks != '\0' && mount->has(row.local_locks);
  return at_host ? LockScope::host : row.locks;
}

int64_t believed(int64_t preferred) { return preferred > 0 && preferred <= max_block ? preferred : min_unit; }

}  // namespace

const char* name_of(FileSystem kind) { return row_of(kind).name; }

FileSystem kind_of_magic(int64_t magic) {
  const int64_t number = magic & 0xFFFFFFFF;  // sign-extended on 32-bit systems
  if (number == smb1_magic || number == smb2_magic) return FileSystem::smb;
  const auto rows = all_rows();
  const auto found =
      std::ranges::find_if(rows, [&](const TraitsRow& row) { return row.magic != 0 && row.magic == number; });
  return found != rows.end() ? found->kind : FileSystem::unknown;
}

FileSystem kind_of(int64_t magic, const std::optional<Mount>& mount) {
  const FileSystem kind = kind_of_magic(magic);
  if (!mount || (kind != FileSystem::fuse && kind != FileSystem::unknown)) return kind;
  if (is_moosefs(*mount)) return FileSystem::moosefs;
  const auto rows = all_rows();
  const auto found =
      std::ranges::find_if(rows, [&](const TraitsRow& row) { return has_type(row, mount->type); });
  return found != rows.end() ? found->kind : kind;
}

FileSystemTraits traits_of_kind(FileSystem kind, const std::optional<Mount>& mount, int64_t preferred) {
  const TraitsRow& row = row_of(kind);
  FileSystemTraits traits{
      .kind = kind,
      .coherence = row.coherence,
      .locks = locks_of(row, mount),
      .unit = row.unit == 0 ? believed(preferred) : row.unit,
      .fallocate = row.fallocate || (kind == FileSystem::nfs && mount && mount->option("vers") == "4.2"),
      .mmap = row.mmap};
  if (kind == FileSystem::beegfs) traits.unit = std::max(traits.unit, believed(preferred));
  const bool on_many_servers = kind == FileSystem::gpfs || kind == FileSystem::beegfs;
  if (on_many_servers) traits.stripes = 0;
  if (on_many_servers || kind == FileSystem::lustre || is_ceph(kind)) traits.stripe_size = traits.unit;
  return traits;
}

bool finds_own_writes(FileSystem kind) {
  return kind == FileSystem::glusterfs || kind == FileSystem::ceph_fuse || kind == FileSystem::nfs ||
         kind == FileSystem::memory;
}

bool is_ceph(FileSystem kind) { return kind == FileSystem::ceph || kind == FileSystem::ceph_fuse; }

bool is_fuse(FileSystem kind) { return kind >= FileSystem::glusterfs && kind <= FileSystem::fuse; }

bool forgets_lengths(FileSystem kind) { return kind == FileSystem::glusterfs; }

bool closes_publish(FileSystem kind) { return kind == FileSystem::glusterfs; }

bool lays_out_files(FileSystem kind) {
  return kind == FileSystem::lustre || is_ceph(kind) || kind == FileSystem::unknown;
}

bool opens_anew(FileSystem kind) {
  const bool keeps = kind == FileSystem::p9 || kind == FileSystem::virtiofs || kind == FileSystem::orangefs;
  return !keeps && kind != FileSystem::unknown && !is_fuse(kind);
}

}  // namespace sheaf
