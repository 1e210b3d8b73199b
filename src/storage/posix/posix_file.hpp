// storage/posix/posix_file: one open file of the operating system. All transfers are positional, so that the
// offset of the descriptor means nothing and threads need no lock.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "storage/file.hpp"
#include "storage/posix/direct_file.hpp"
#include "storage/posix/range_locks.hpp"
#include "storage/system/posix_descriptor.hpp"
#include "storage/traits/traits.hpp"
#include "storage/working_directory.hpp"

namespace sheaf {

// How a file is found whenever it is opened: a descriptor, closed on exec; negative with errno.
using Opening = std::function<int(int flags)>;

// By its name, which counts from `directory`; null: from the directory that is current at each call.
Opening by_name(const std::string& path, std::shared_ptr<const WorkingDirectory> directory = nullptr);

// A new descriptor of what `how` finds. Throws not_found, permission, io (EEXIST, EISDIR, ...) as the
// operating system refuses; a directory, pipe or socket is refused for any access, without waiting. Created
// files get mode 0666 less umask. What is read then is what others have closed before, also where hosts may
// keep pages over an open (storage/traits/traits.hpp, opens_anew), but for pages that the host cannot give
// up. size: becomes that of a regular file, in bytes, and stays for any other, and for `fresh`. `path` is for
// messages.
Descriptor open_descriptor(const std::string& path, Access access, const Opening& how,
                           int64_t* size = nullptr);

// Kind, number of names and size of a descriptor's file as the server has them, where the file system lets
// this host keep attributes. False, with errno, as fstat(2).
bool status_of_server(int fd, struct stat& found);

class PosixFile final : public File, public PastCache, public RestingFile {
 public:
  // Throws what open_descriptor() throws. directory: what `path` counts from.
  PosixFile(const std::string& path, Access access, Opening how,
            std::shared_ptr<const WorkingDirectory> directory);

  void write_at(std::span<const std::byte> data, int64_t offset) override;
  // Neighbours go in one pwritev(2).
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override;
  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  FileStatus status() override;
  void resize(int64_t size) override;

  // Syncs the directory too, the first time, if this open may have created the file: its bytes survive a loss
  // of power only together with its name.
  void sync() override;
  void renew() override { bring_up_to_date(true); }

  // By O_DIRECT, where the file system knows it, through a descriptor of its own; FUSE writes as ever, by its
  // own descriptor where that may be.
  bool write_past_cache(std::span<const std::byte> data, int64_t offset) override;
  size_t read_past_cache(std::span<std::byte> data, int64_t offset) override;
  void publish() override;
  int64_t renew_opened() override { return bring_up_to_date(false); }
  void know(FileSystem kind) override;

  int64_t next(Space space, int64_t offset) override;

  // Open file description locks: each File is a holder of its own, in this process too. Threads with one File
  // exclude each other here, also where they only read.
  RangeLock lock_range(const LockRequest& wanted) override;
  FileTraits traits() override { return {.past_cache = this, .resting = this, .opened_size = opened_size_}; }
  FileDescriptor descriptor(Whose whose) override;
  const std::string& path() const override { return path_; }
  void close() override;

  bool rest() override;
  void wake() override;

 private:
  std::string path_;
  Opening how_;
  std::shared_ptr<const WorkingDirectory> directory_;
  int64_t opened_size_ = -1;  // of a file that is only read
  Descriptor fd_;
  bool writable_;
  bool name_unsynced_;
  struct stat rested_ {};  // what it was when it gave its descriptor back

  FileSystem file_system();
  int open_beside_own(int flags) const;
  std::shared_ptr<DirectFile> open_direct();
  std::shared_ptr<DirectFile> direct();
  std::shared_ptr<Descriptor> written();
  void sync_written();
  int64_t bring_up_to_date(bool opens);  // returns its names

  std::atomic<int> file_system_ = -1;  // -1: not asked yet
  RangeLocks locks_;
  std::mutex direct_mutex_;             // guards what follows
  std::shared_ptr<DirectFile> direct_;  // opened with O_DIRECT when it was first wanted, and again by renew()
  std::shared_ptr<Descriptor> written_;  // FUSE: what write_past_cache() has written with since the last sync
};

}  // namespace sheaf
