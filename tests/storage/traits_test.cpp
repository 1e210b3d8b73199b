// Behaviour of file systems, derived from literal mountinfos, layouts and words; and the traits of this
// machine.
#include "storage/filesystem/traits.hpp"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstring>

#include "base/warnings.hpp"
#include "storage/posix/beneath.hpp"
#include "storage/posix/posix_store.hpp"
#include "support/environment.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"
#include "testing.hpp"

namespace sheaf::testing::traits_test {
namespace {

constexpr int64_t KiB = 1 << 10;
constexpr int64_t MiB = 1 << 20;
constexpr int64_t fuse_magic = 0x65735546;

Mount mount_of_line(const std::string& line) {
  const auto mounts = parse_mounts(line + "\n");
  EXPECT_EQ(mounts.size(), 1U) << line;
  return mounts.empty() ? Mount{} : mounts.front();
}

// A file system in the form of statfs(2) and mountinfo, and the expected traits.
struct FileSystemCase {
  const char* name;  // of the case
  int64_t magic;
  const char* line;  // line of mountinfo
  int64_t block;     // st_blksize
  FileSystem kind;
  Coherence coherence;
  LockScope locks;
  int64_t unit;
};

void PrintTo(const FileSystemCase& known, std::ostream* out) { *out << known.name; }

class KnownFileSystem : public ::testing::TestWithParam<FileSystemCase> {};

TEST_P(KnownFileSystem, HasItsTraits) {
  const FileSystemCase& known = GetParam();
  const Mount mount = mount_of_line(known.line);
  const FileSystem kind = kind_of(known.magic, mount);
  const FileSystemTraits traits = traits_of_kind(kind, mount, known.block);
  EXPECT_STREQ(name_of(traits.kind), name_of(known.kind));
  EXPECT_STREQ(name_of(traits.coherence), name_of(known.coherence));
  EXPECT_STREQ(name_of(traits.locks), name_of(known.locks));
  EXPECT_EQ(traits.unit, known.unit);
}

const FileSystemCase all_known[] = {
    {"ext4", 0xEF53, "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard", 4096, FileSystem::ext4,
     Coherence::local, LockScope::global, 4 * KiB},
    {"ext3", 0xEF53, "27 1 8:1 / /old rw - ext3 /dev/sda1 rw", 4096, FileSystem::ext4, Coherence::local,
     LockScope::global, 4 * KiB},
    {"xfs", 0x58465342, "40 27 8:17 / /data rw,noatime - xfs /dev/sdb1 rw,attr2,inode64,logbufs=8,noquota",
     4096, FileSystem::xfs, Coherence::local, LockScope::global, 4 * KiB},
    {"btrfs", 0x9123683E,
     "41 27 0:33 /@home /home rw - btrfs /dev/sdc rw,space_cache=v2,subvolid=257,subvol=/@home", 4096,
     FileSystem::btrfs, Coherence::local, LockScope::global, 4 * KiB},
    {"f2fs", 0xF2F52010, "42 27 8:33 / /flash rw - f2fs /dev/sdc1 rw,mode=adaptive", 4096, FileSystem::f2fs,
     Coherence::local, LockScope::global, 4 * KiB},
    {"zfs", 0x2FC12FC1, "43 27 0:44 / /tank rw,xattr,noacl - zfs tank rw,xattr,noacl", 128 * KiB,
     FileSystem::zfs, Coherence::local, LockScope::global, 128 * KiB},
    {"tmpfs", 0x01021994, "25 24 0:23 / /dev/shm rw,nosuid,nodev - tmpfs tmpfs rw,size=24684084k", 4096,
     FileSystem::tmpfs, Coherence::local, LockScope::global, 4 * KiB},
    {"ramfs", 0x858458F6, "26 24 0:24 / /ram rw - ramfs ramfs rw", 4096, FileSystem::ramfs, Coherence::local,
     LockScope::global, 4 * KiB},
    {"overlay", 0x794C7630, "50 27 0:50 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w", 4096,
     FileSystem::overlayfs, Coherence::local, LockScope::global, 4 * KiB},
    {"ntfs", fuse_magic,
     "51 27 8:49 / /win rw - fuseblk /dev/sdd1 rw,user_id=0,group_id=0,allow_other,blksize=4096", 4096,
     FileSystem::fuseblk, Coherence::local, LockScope::global, 4 * KiB},
    {"lustre_flock", 0x0BD00BD0,
     "60 27 0:60 / /scratch rw,flock - lustre 10.1.1.1@o2ib:/scratch rw,flock,checksum,lazystatfs", 4 * MiB,
     FileSystem::lustre, Coherence::coherent, LockScope::global, MiB},
    {"lustre_localflock", 0x0BD00BD0, "60 27 0:60 / /scratch rw - lustre mgs@tcp:/scratch rw,localflock",
     4 * MiB, FileSystem::lustre, Coherence::coherent, LockScope::host, MiB},
    {"lustre_noflock", 0x0BD00BD0, "60 27 0:60 / /scratch rw - lustre mgs@tcp:/scratch rw,noflock", 4 * MiB,
     FileSystem::lustre, Coherence::coherent, LockScope::none, MiB},
    {"lustre_silent", 0x0BD00BD0, "60 27 0:60 / /scratch rw - lustre mgs@tcp:/scratch rw,lazystatfs", 4 * MiB,
     FileSystem::lustre, Coherence::coherent, LockScope::none, MiB},
    {"gpfs", 0x47504653, "61 27 0:61 / /work rw,relatime - gpfs work rw", 16 * MiB, FileSystem::gpfs,
     Coherence::coherent, LockScope::global, 16 * MiB},
    {"ceph", 0x00C36400, "62 27 0:62 / /ceph rw - ceph 10.0.0.1:6789:/ rw,name=admin,secret=<hidden>,acl",
     4 * MiB, FileSystem::ceph, Coherence::coherent, LockScope::global, 4 * MiB},
    {"ceph_fuse", fuse_magic,
     "62 27 0:62 / /ceph rw - fuse.ceph-fuse ceph-fuse rw,user_id=0,group_id=0,allow_other", 4 * MiB,
     FileSystem::ceph_fuse, Coherence::close_to_open, LockScope::global, 4 * MiB},
    {"beegfs", 0x19830326,
     "63 27 0:63 / /beegfs rw,relatime - beegfs beegfs_nodev rw,cfgFile=/etc/beegfs/beegfs-client.conf",
     512 * KiB, FileSystem::beegfs, Coherence::close_to_open, LockScope::host, 512 * KiB},
    {"beegfs_large_chunks", 0x19830326, "63 27 0:63 / /beegfs rw - beegfs beegfs_nodev rw", 2 * MiB,
     FileSystem::beegfs, Coherence::close_to_open, LockScope::host, 2 * MiB},
    {"gfs2", 0x01161970, "64 27 253:3 / /gfs rw - gfs2 /dev/mapper/vg-gfs rw", 4096, FileSystem::gfs2,
     Coherence::coherent, LockScope::global, 4 * KiB},
    {"gfs2_localflocks", 0x01161970, "64 27 253:3 / /gfs rw - gfs2 /dev/mapper/vg-gfs rw,localflocks", 4096,
     FileSystem::gfs2, Coherence::coherent, LockScope::host, 4 * KiB},
    {"ocfs2", 0x7461636F, "64 27 253:3 / /ocfs rw - ocfs2 /dev/sdb rw,cluster_stack=o2cb", 4096,
     FileSystem::ocfs2, Coherence::coherent, LockScope::host, 4 * KiB},
    {"nfs4", 0x6969,
     "70 27 0:70 / /home rw,relatime shared:9 - nfs4 filer:/export/home "
     "rw,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=tcp,"
     "timeo=600,retrans=2,sec=sys,clientaddr=10.0.0.2,local_lock=none,addr=10.0.0.1",
     MiB, FileSystem::nfs, Coherence::close_to_open, LockScope::global, 64 * KiB},
    {"nfs3_nolock", 0x6969,
     "70 27 0:70 / /home rw - nfs filer:/home rw,vers=3,nolock,local_lock=all,addr=10.0.0.1", MiB,
     FileSystem::nfs, Coherence::close_to_open, LockScope::host, 64 * KiB},
    {"nfs3_local_posix", 0x6969, "70 27 0:70 / /home rw - nfs filer:/home rw,vers=3,local_lock=posix", MiB,
     FileSystem::nfs, Coherence::close_to_open, LockScope::host, 64 * KiB},
    {"nfs3_local_flock", 0x6969, "70 27 0:70 / /home rw - nfs filer:/home rw,vers=3,local_lock=flock", MiB,
     FileSystem::nfs, Coherence::close_to_open, LockScope::global, 64 * KiB},
    {"nfs_silent", 0x6969, "70 27 0:70 / /home rw - nfs filer:/home rw,vers=3", MiB, FileSystem::nfs,
     Coherence::close_to_open, LockScope::host, 64 * KiB},
    {"cifs", 0xFF534D42, "71 27 0:71 / /share rw - cifs //server/share rw,vers=3.1.1,cache=strict,username=u",
     4096, FileSystem::smb, Coherence::close_to_open, LockScope::host, 64 * KiB},
    {"smb3", 0xFE534D42, "71 27 0:71 / /share rw - smb3 //server/share rw,vers=3.1.1", 4096, FileSystem::smb,
     Coherence::close_to_open, LockScope::host, 64 * KiB},
    {"9p", 0x01021997, "72 27 0:72 / /host rw - 9p hostshare rw,access=client,trans=virtio", 4096,
     FileSystem::p9, Coherence::close_to_open, LockScope::host, 64 * KiB},
    {"virtiofs", fuse_magic, "73 27 0:73 / /host rw - virtiofs hostshare rw", 4096, FileSystem::virtiofs,
     Coherence::close_to_open, LockScope::host, 64 * KiB},
    {"glusterfs", fuse_magic,
     "74 27 0:74 / /gv0 rw,relatime - fuse.glusterfs node1:/gv0 "
     "rw,user_id=0,group_id=0,default_permissions,allow_other,max_read=131072",
     128 * KiB, FileSystem::glusterfs, Coherence::close_to_open, LockScope::global, 128 * KiB},
    {"moosefs_by_source", fuse_magic,
     "75 27 0:75 / /mnt/mfs rw - fuse mfs#mfsmaster:9421 rw,user_id=0,group_id=0,allow_other", 64 * KiB,
     FileSystem::moosefs, Coherence::close_to_open, LockScope::global, 64 * MiB},
    {"moosefs_by_type", fuse_magic, "75 27 0:75 / /mnt/mfs rw - fuse.mfs mfsmaster:9421 rw,user_id=0",
     64 * KiB, FileSystem::moosefs, Coherence::close_to_open, LockScope::global, 64 * MiB},
    {"juicefs", fuse_magic, "76 27 0:76 / /jfs rw - fuse.juicefs JuiceFS:myjfs rw,user_id=0", 64 * KiB,
     FileSystem::juicefs, Coherence::close_to_open, LockScope::global, 4 * MiB},
    {"sshfs", fuse_magic, "77 27 0:77 / /remote rw - fuse.sshfs user@host:/dir rw,user_id=1000,group_id=1000",
     4096, FileSystem::sshfs, Coherence::close_to_open, LockScope::host, 64 * KiB},
    {"dfuse", fuse_magic, "78 27 0:78 / /daos rw - fuse.daos dfuse rw,user_id=1000", MiB, FileSystem::daos,
     Coherence::close_to_open, LockScope::host, MiB},
    {"other_fuse", fuse_magic, "79 27 0:79 / /s3 rw - fuse.s3fs s3fs rw,user_id=1000", 4096, FileSystem::fuse,
     Coherence::close_to_open, LockScope::host, 64 * KiB},
    {"orangefs", 0x20030528, "80 27 0:80 / /pvfs rw - pvfs2 tcp://h:3334/orangefs rw", 4 * MiB,
     FileSystem::orangefs, Coherence::close_to_open, LockScope::none, 64 * KiB},
    {"never_heard_of", 0x12345, "81 27 0:81 / /new rw - newfs cluster rw", 8 * MiB, FileSystem::unknown,
     Coherence::close_to_open, LockScope::host, 64 * KiB},
};

INSTANTIATE_TEST_SUITE_P(All, KnownFileSystem, ::testing::ValuesIn(all_known),
                         [](const auto& test) { return test.param.name; });

TEST(Traits, NothingIsPromisedForAMountThatCannotBeRead) {
  EXPECT_EQ(traits_of_kind(FileSystem::nfs, std::nullopt, 4096).locks, LockScope::host);
  EXPECT_EQ(traits_of_kind(FileSystem::lustre, std::nullopt, 4096).locks, LockScope::host);
  EXPECT_EQ(kind_of(fuse_magic, std::nullopt), FileSystem::fuse);
  EXPECT_EQ(traits_of_kind(FileSystem::unknown, std::nullopt, 4096), FileSystemTraits{});
}

TEST(Traits, NfsSetsRoomAsideFromVersion42On) {
  const Mount old = mount_of_line("70 27 0:70 / /home rw - nfs4 filer:/home rw,vers=4.1,local_lock=none");
  const Mount now = mount_of_line("70 27 0:70 / /home rw - nfs4 filer:/home rw,vers=4.2,local_lock=none");
  EXPECT_FALSE(traits_of_kind(FileSystem::nfs, old, 4096).fallocate);
  EXPECT_TRUE(traits_of_kind(FileSystem::nfs, now, 4096).fallocate);
}

TEST(Traits, AnOpenShowsWhatOthersHaveClosedWhereTheKernelSeesToThat) {
  for (const auto kind :
       {FileSystem::ext4, FileSystem::tmpfs, FileSystem::nfs, FileSystem::lustre, FileSystem::ceph})
    EXPECT_TRUE(opens_anew(kind)) << name_of(kind);
  for (const auto kind : {FileSystem::fuse, FileSystem::glusterfs, FileSystem::p9, FileSystem::unknown})
    EXPECT_FALSE(opens_anew(kind)) << name_of(kind);
  for (const FileSystem kind : {FileSystem::glusterfs, FileSystem::nfs, FileSystem::ceph_fuse})
    EXPECT_TRUE(finds_own_writes(kind)) << name_of(kind);
  for (const FileSystem kind : {FileSystem::unknown, FileSystem::fuse, FileSystem::moosefs})
    EXPECT_FALSE(finds_own_writes(kind)) << name_of(kind);
}

TEST(Traits, NothingIsTakenForGrantedOfWhatIsNotKnown) {
  EXPECT_TRUE(closes_publish(FileSystem::glusterfs) && forgets_lengths(FileSystem::glusterfs));
  for (const FileSystem kind : {FileSystem::unknown, FileSystem::fuse, FileSystem::moosefs, FileSystem::nfs})
    EXPECT_FALSE(closes_publish(kind) || forgets_lengths(kind)) << name_of(kind);
  EXPECT_TRUE(is_fuse(FileSystem::fuse) && is_fuse(FileSystem::glusterfs));
  EXPECT_FALSE(is_fuse(FileSystem::unknown) || is_fuse(FileSystem::nfs) || is_fuse(FileSystem::p9));
}

template <class Number>
void put(Bytes& bytes, size_t at, Number number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

Bytes lustre_plain(uint32_t magic, uint32_t stripe_size, uint16_t stripe_count) {
  Bytes layout(48);
  put<uint32_t>(layout, 0, magic);
  put<uint32_t>(layout, 4, 1);
  put<uint32_t>(layout, 24, stripe_size);
  put<uint16_t>(layout, 28, stripe_count);
  return layout;
}

TEST(Layouts, LustreTellsSizeAndNumberOfStripes) {
  for (const uint32_t magic : {0x0BD10BD0U, 0x0BD30BD0U}) {
    FileSystemTraits traits;
    EXPECT_TRUE(apply_lustre_layout(traits, lustre_plain(magic, 4 << 20, 8)));
    EXPECT_EQ(traits.unit, 4 * MiB);
    EXPECT_EQ(traits.stripe_size, 4 * MiB);
    EXPECT_EQ(traits.stripes, 8);
  }
  FileSystemTraits over_all;
  EXPECT_TRUE(apply_lustre_layout(over_all, lustre_plain(0x0BD10BD0, 1 << 20, 0xFFFF)));
  EXPECT_EQ(over_all.stripes, 0);
}

TEST(Layouts, OfLustresComponentsTheLargestStripeCounts) {
  Bytes layout(32 + 2 * 48);
  put<uint32_t>(layout, 0, 0x0BD60BD0);
  put<uint16_t>(layout, 14, 2);
  for (const auto& [entry, size, count] : {std::tuple{0, 1 << 20, 1}, std::tuple{1, 16 << 20, 12}}) {
    put<uint32_t>(layout, 32 + 48 * static_cast<size_t>(entry) + 24, static_cast<uint32_t>(layout.size()));
    const Bytes one = lustre_plain(0x0BD10BD0, static_cast<uint32_t>(size), static_cast<uint16_t>(count));
    layout.insert(layout.end(), one.begin(), one.end());
  }
  FileSystemTraits traits;
  EXPECT_TRUE(apply_lustre_layout(traits, layout));
  EXPECT_EQ(traits.unit, 16 * MiB);
  EXPECT_EQ(traits.stripes, 12);
}

TEST(Layouts, WhatIsNoLayoutChangesNothing) {
  const FileSystemTraits before;
  FileSystemTraits traits;
  const Bytes whole = lustre_plain(0x0BD10BD0, 4 << 20, 8);
  for (size_t size = 0; size < 32; ++size)
    EXPECT_FALSE(apply_lustre_layout(traits, std::span(whole).first(size))) << size;
  EXPECT_FALSE(apply_lustre_layout(traits, lustre_plain(0x0BD10BD1, 4 << 20, 8)));
  EXPECT_FALSE(apply_lustre_layout(traits, lustre_plain(0x0BD10BD0, 0, 8)));
  Bytes composite(32 + 48);
  put<uint32_t>(composite, 0, 0x0BD60BD0);
  put<uint16_t>(composite, 14, 0xFFFF);
  put<uint32_t>(composite, 32 + 24, 0xFFFFFFF0);
  EXPECT_FALSE(apply_lustre_layout(traits, composite));
  for (const char* const text : {"", "stripe_unit=4194304", "stripe_unit=0 stripe_count=1 object_size=1",
                                 "stripe_unit=x stripe_count=1 object_size=4"})
    EXPECT_FALSE(apply_ceph_layout(traits, text)) << text;
  EXPECT_EQ(traits, before);
}

TEST(Layouts, CephTellsObjectsAndStripes) {
  FileSystemTraits traits;
  EXPECT_TRUE(
      apply_ceph_layout(traits, "stripe_unit=4194304 stripe_count=1 object_size=8388608 pool=cephfs_data"));
  EXPECT_EQ(traits.unit, 8 * MiB);
  EXPECT_TRUE(
      apply_ceph_layout(traits, "stripe_unit=65536 stripe_count=4 object_size=4194304 pool=cephfs_data"));
  EXPECT_EQ(traits.unit, 64 * KiB);
  EXPECT_EQ(traits.stripes, 4);
}

TEST(Layouts, BeegfsAgreesBetweenHostsOnlyWithoutCaches) {
  const auto with = [](std::string_view config) {
    FileSystemTraits traits = traits_of_kind(FileSystem::beegfs, std::nullopt, 4096);
    apply_beegfs_config(traits, config);
    return traits;
  };
  EXPECT_EQ(with("tuneFileCacheType = buffered\n").coherence, Coherence::close_to_open);
  EXPECT_EQ(with("tuneFileCacheType = native\n").coherence, Coherence::close_to_open);
  EXPECT_TRUE(with("tuneFileCacheType = native\n").mmap);
  EXPECT_EQ(with("# tuneFileCacheType = none\n").coherence, Coherence::close_to_open);
  EXPECT_EQ(with("x\n tuneFileCacheType=none").coherence, Coherence::coherent);
  EXPECT_EQ(with("tuneUseGlobalFileLocks = true\n").locks, LockScope::global);
  EXPECT_EQ(with("tuneUseGlobalFileLocks = false\n").locks, LockScope::host);
}

TEST(Traits, ReadAsALine) {
  const Mount mount = mount_of_line("70 27 0:70 / /home rw - nfs4 filer:/home rw,vers=4.2,local_lock=none");
  EXPECT_EQ(to_string(traits_of_kind(FileSystem::nfs, mount, 4096)),
            "nfs: close-to-open, locks global, unit 64 KiB, fallocate yes, mmap no");
  EXPECT_EQ(to_string(traits_of_kind(FileSystem::gpfs, mount, 16 << 20)),
            "gpfs: coherent, locks global, unit 16 MiB, an unknown number of stripes of 16 MiB, fallocate "
            "no, mmap yes");
  EXPECT_EQ(to_string(traits_of_kind(FileSystem::ext4, mount, 1000)),
            "ext4: local, locks global, unit 1000 bytes, fallocate yes, mmap yes");
}

TEST(Words, CountMoreThanWhatWasFound) {
  FileSystemTraits traits = traits_of_kind(FileSystem::ext4, std::nullopt, 4096);
  std::string unknown;
  apply_words(traits, "close-to-open, locks=host ,unit=1M,,stripes=4,stripe=64k,fallocate=no,mmap=no",
              &unknown);
  EXPECT_EQ(unknown, "");
  EXPECT_EQ(to_string(traits),
            "ext4: close-to-open, locks host, unit 1 MiB, 4 stripes of 64 KiB, fallocate no, mmap no");
}

TEST(Words, ThatAreUnknownAreNamedAndTheOthersCount) {
  for (const char* const word : {"global", "locks=some", "unit=0", "unit=", "unit=x", "stripes=-1",
                                 "fallocate=1", "mmap", "colour=red"}) {
    FileSystemTraits traits;
    std::string unknown;
    apply_words(traits, "local," + std::string(word) + ",locks=none,other", &unknown);
    EXPECT_EQ(unknown, word);
    EXPECT_EQ(traits.coherence, Coherence::local);
    EXPECT_EQ(traits.locks, LockScope::none);
  }
}

TEST(TraitsHere, AreThoseOfTheFileItsDirectoryAndAFileToBe) {
  ::unsetenv("SHEAF_FS");
  const TemporaryDirectory directory;
  posix_store().open(directory / "a", Access::fresh)->close();
  const FileSystemTraits traits = posix_store().traits(directory.path());
  EXPECT_EQ(posix_store().traits(directory / "a"), traits);
  EXPECT_EQ(posix_store().traits(directory / "missing"), traits);
  EXPECT_EQ(posix_store().traits(directory.path() + "/"), traits);
  EXPECT_EQ(error_of([&] { posix_store().traits(directory / "no/such/file"); }).code(), Code::not_found);
  struct statfs found;
  ASSERT_EQ(::statfs(directory.path().c_str(), &found), 0);
  EXPECT_EQ(traits.kind, kind_of(static_cast<int64_t>(found.f_type), mount_of(directory.path())));
}

TEST(TraitsHere, ComeThroughDecoratorsAndFromBeneathADirectory) {
  ::unsetenv("SHEAF_FS");
  const TemporaryDirectory directory;
  const FileSystemTraits traits = posix_store().traits(directory.path());
  FaultyStore faulty(posix_store());
  EXPECT_EQ(faulty.traits(directory / "a"), traits);
  EXPECT_EQ(posix_store().beneath(directory.path())->traits("a"), traits);
  EXPECT_EQ(faulty.beneath(directory.path())->traits("a"), traits);
  EXPECT_EQ(error_of([&] { posix_store().beneath(directory.path())->traits("../a"); }).code(),
            Code::permission);
}

TEST(TraitsHere, ARelativeNameCountsFromTheStoresDirectory) {
  ::unsetenv("SHEAF_FS");
  EXPECT_EQ(posix_store_here()->traits("a"), posix_store().traits("."));
}

TEST(TraitsHere, TmpfsIsLocalAndMapped) {
  struct statfs found;
  if (::statfs("/dev/shm", &found) != 0 ||
      kind_of_magic(static_cast<int64_t>(found.f_type)) != FileSystem::tmpfs)
    GTEST_SKIP() << "/dev/shm is no tmpfs";
  ::unsetenv("SHEAF_FS");
  EXPECT_EQ(to_string(posix_store().traits("/dev/shm")),
            "tmpfs: local, locks global, unit 4 KiB, fallocate yes, mmap yes");
}

TEST(TraitsHere, MemoryIsSharedByAllTasks) {
  MemoryStore memory;
  EXPECT_EQ(to_string(memory.traits("a")), "memory: local, locks global, unit 4 KiB, fallocate no, mmap no");
}

TEST(TraitsHere, SheafFsCountsMoreAndWhatItDoesNotKnowIsToldOnce) {
  const TemporaryDirectory directory;
  take_warnings();
  const test::EnvironmentVariable words("SHEAF_FS", "close-to-open,locks=none,brakes=good,unit=2M");
  for (int time = 0; time < 2; ++time) {
    const FileSystemTraits traits = posix_store().traits(directory.path());
    EXPECT_EQ(traits.coherence, Coherence::close_to_open);
    EXPECT_EQ(traits.locks, LockScope::none);
    EXPECT_EQ(traits.unit, 2 * MiB);
  }
  const auto told = take_warnings();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0], "SHEAF_FS='brakes=good' is not understood, and ignored; expected " +
                         std::string(known_traits_words()));
}

}  // namespace
}  // namespace sheaf::testing::traits_test
