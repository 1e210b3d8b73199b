// storage/posix/posix_file: an open file of the operating system. All transfers are positional, so the
// descriptor's offset has no meaning and threads need no lock.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "storage/file.hpp"
#include "storage/filesystem/traits.hpp"
#include "storage/posix/direct_file.hpp"
#include "storage/posix/posix_open.hpp"
#include "storage/posix/range_locks.hpp"
#include "storage/system/posix_descriptor.hpp"
#include "storage/working_directory.hpp"

namespace sheaf {

class PosixFile final : public File {
 public:
  // Opens the file that `how` finds. Throws the errors of open_descriptor(). `path` is relative to
  // `directory`.
  PosixFile(const std::string& path, Access access, FileOpener how,
            std::shared_ptr<const WorkingDirectory> directory);

  void write_at(std::span<const std::byte> data, int64_t offset) override;
  // Writes adjacent segments with one pwritev(2).
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override;
  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  FileStatus status() override;
  void resize(int64_t size) override;

  // If this open may have created the file, the first call also syncs the directory: the bytes survive a
  // power failure only together with the name.
  void sync() override;
  void revalidate() override { revalidate_cache(true); }

  // Uses O_DIRECT on a separate descriptor if the file system supports it. On FUSE, writes through a separate
  // descriptor without O_DIRECT if possible.
  bool write_directly(std::span<const std::byte> data, int64_t offset) override;
  size_t read_directly(std::span<std::byte> data, int64_t offset) override;
  void publish() override;
  int64_t revalidate_opened() override { return revalidate_cache(false); }
  void know(FileSystem kind) override;

  int64_t next(Space space, int64_t offset) override;

  // Uses open file description locks: each File is a separate holder, also within this process. Threads that
  // lock through one File exclude each other, even if both request shared locks.
  RangeLock lock_range(const LockRequest& wanted) override;
  FileTraits traits() override {
    return {.evictable = true, .opened_size = opened_size_, .any_thread = true};
  }
  FileDescriptor descriptor(DescriptorKind kind) override;
  const std::string& path() const override { return path_; }
  void close() override;

  bool evict() override;
  void reopen() override;

 private:
  std::string path_;
  FileOpener how_;
  std::shared_ptr<const WorkingDirectory> directory_;
  int64_t opened_size_ = -1;  // for a file opened for reading only
  PosixDescriptor fd_;
  bool writable_;
  bool name_unsynced_;
  struct stat rested_ {};  // status at the time of eviction

  FileSystem file_system();
  int open_beside_own(int flags) const;
  std::shared_ptr<DirectFile> open_direct();
  std::shared_ptr<DirectFile> direct();
  std::shared_ptr<PosixDescriptor> written();
  void sync_written();
  int64_t revalidate_cache(bool opens);  // returns the number of names

  std::atomic<int> file_system_ = -1;  // -1: not determined yet
  RangeLocks locks_;
  struct UncachedFiles {
    std::mutex mutex;                          // guards the members below
    std::shared_ptr<DirectFile> direct;        // opened with O_DIRECT on first use and by revalidate()
    std::shared_ptr<PosixDescriptor> written;  // FUSE: descriptor of write_directly() since the last sync
  } uncached_;
};

}  // namespace sheaf
