// storage/posix/posix_file: one open file of the operating system. All transfers are positional, so that the
// offset of the descriptor means nothing and threads need no lock.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "storage/posix/direct_file.hpp"
#include "storage/posix/range_locks.hpp"
#include "storage/store.hpp"
#include "storage/traits/traits.hpp"
#include "storage/working_directory.hpp"

namespace sheaf {

// A new descriptor, closed on exec; the caller owns it. Throws not_found, permission, io (EEXIST, EISDIR,
// ...) as the operating system refuses; a directory, pipe or socket is refused for any access, without
// waiting. Created files get mode 0666 less umask. A relative path counts from `directory`; null: from the
// current one. What is read then is what others have closed before, also where hosts may keep pages over an
// open (storage/traits/traits.hpp, opens_anew), but for pages that the host cannot give up. size: becomes
// that of a regular file, in bytes, and stays for any other, and for `fresh`.
int open_descriptor(const std::string& path, Access access, const WorkingDirectory* directory = nullptr,
                    int64_t* size = nullptr);

// The same for who finds files in another way than by their names.
struct Opening {
  std::function<int(int flags)> open;        // a descriptor; negative with errno
  std::function<bool(struct stat&)> status;  // of what would be opened; false: not known
};
int open_descriptor(const std::string& path, Access access, const Opening& how, int64_t* size = nullptr);

// The status of a descriptor as the server has it, where the file system lets this host keep attributes.
// False, with errno, as fstat(2).
bool status_of_server(int fd, struct stat& found);

class PosixFile final : public File, public PastCache, public RestingFile {
 public:
  // Throws what open_descriptor() throws.
  PosixFile(const std::string& path, Access access,
            std::shared_ptr<const WorkingDirectory> directory = nullptr);
  PosixFile(const std::string& path, Access access, std::shared_ptr<const WorkingDirectory> directory,
            Opening how);
  ~PosixFile() override;
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  void write_at(std::span<const std::byte> data, int64_t offset) override;
  // Neighbours go in one pwritev(2).
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override;
  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  FileStatus status() override;
  void resize(int64_t size) override;

  // Syncs the directory too, the first time, if this open may have created the file: its bytes survive a loss
  // of power only together with its name.
  void sync() override;
  void renew() override;

  // By O_DIRECT, where the file system knows it, through a descriptor of its own; FUSE writes as ever, by its
  // own descriptor where that may be.
  bool write_past_cache(std::span<const std::byte> data, int64_t offset) override;
  size_t read_past_cache(std::span<std::byte> data, int64_t offset) override;
  void publish() override;
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
  Opening how_;                                        // empty: by the path
  std::shared_ptr<const WorkingDirectory> directory_;  // that path_ counts from
  int64_t opened_size_ = -1;                           // of a file that is only read
  int fd_;
  bool writable_;
  bool name_unsynced_;
  struct stat rested_ {};  // what it was when it gave its descriptor back

  int open_again(bool writable) const;
  void write_run(std::span<const Piece<const std::byte>> pieces);
  void close_another();
  FileSystem file_system();
  int open_beside_own(int flags) const;
  std::shared_ptr<DirectFile> open_direct();
  std::shared_ptr<DirectFile> written();
  void sync_written();
  std::shared_ptr<DirectFile> direct();

  std::atomic<int> file_system_ = -1;  // -1: not asked yet
  RangeLocks locks_;
  std::mutex direct_mutex_;             // guards what follows
  std::shared_ptr<DirectFile> direct_;  // opened with O_DIRECT when it was first wanted, and again by renew()
  std::shared_ptr<DirectFile> written_;  // FUSE: what write_past_cache() has written with since the last sync
};

}  // namespace sheaf
