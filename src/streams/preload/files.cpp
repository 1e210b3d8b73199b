#include "streams/preload/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <utility>

#include "base/non_copyable.hpp"
#include "base/printable.hpp"
#include "storage/times.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/following.hpp"
#include "streams/preload/mappings.hpp"
#include "streams/preload/names/sets.hpp"
#include "streams/preload/real.hpp"
#include "streams/preload/stdio/telling.hpp"

namespace sheaf::preload {

using streams::ContainerSet;
using streams::ContainerStream;
using streams::StreamOpening;
using streams::StreamStatus;

namespace {

constexpr int not_status = O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_CLOEXEC;
constexpr uint64_t ours = uint64_t{1} << 62;  // bit of the inode numbers of captured files only

// Returns whether an open with `flags` may change the file. O_TRUNC truncates a file that is opened for
// reading, too.
bool changes(int flags) { return writes(flags) || ((flags & O_TRUNC) && !(flags & O_PATH)); }

int wanted(int flags) {
  if (flags & O_PATH) return 0;
  const int mode = flags & O_ACCMODE;
  return (mode != O_WRONLY ? R_OK : 0) | (mode != O_RDONLY ? W_OK : 0) | (flags & O_TRUNC ? W_OK : 0);
}

// Looks up `name` in the set and stores its status in `found`. Returns 0 or an errno. Leaves `found`
// unchanged if the lookup throws.
int look_up(ContainerSet& set, std::string_view name, std::optional<StreamStatus>& found, bool anew = false) {
  return errno_of([&] {
    if (const std::optional<StreamStatus> status = anew ? set.known(name) : set.status(name))
      found.emplace(*status);
  });
}

// Returns whether an open with `flags` leaves an empty file, whether the file existed or not. If so, the
// lookup need not check other hosts for a newer state of the file.
bool makes_anew(int flags) {
  return (flags & O_CREAT) && (flags & O_TRUNC) && !(flags & (O_EXCL | O_DIRECTORY)) && writes(flags);
}

constexpr int no_mask = -1;
constinit std::atomic<int> mask{no_mask};

// Returns the umask of the process.
mode_t current_umask() {
  int known = mask.load(std::memory_order_relaxed);
  if (known == no_mask) {
    known = int(umask(077));
    umask(mode_t(known));
    mask.store(known);
  }
  return mode_t(known);
}

// The members of a Slot that describe the stream to processes that inherit the descriptor.
struct StreamDescription {
  uint64_t number;
  std::string_view set, name;
  dev_t device;
  bool view;
};

// Reserves a descriptor and its slot before an open creates or truncates a file, so that an open without a
// free slot changes nothing. The destructor releases the descriptor and the slot unless give() has assigned a
// stream.
class Reserved : private NonCopyable {
 public:
  explicit Reserved(int flags) : file_(make_open_file()) {
    if (file_) fd_ = state::reserve(flags & ~not_status, slot_, flags & O_CLOEXEC);
    if (fd_ < 0) error_ = errno;
  }
  ~Reserved() {
    const KeptErrno kept;
    if (fd_ >= 0) {
      real::close(fd_);
      state::release(slot_);
    }
    if (file_) unuse(file_);
  }
  int error() const { return error_; }

  int give(std::shared_ptr<ContainerStream> stream, std::shared_ptr<ContainerSet> set,
           const StreamDescription& told) {
    tell(told);
    file_->stream = std::move(stream);
    file_->set = std::move(set);
    file_->view = told.view;
    file_->slot.store(slot_);
    install(fd_, file_);
    return std::exchange(fd_, -1);
  }

 private:
  void tell(const StreamDescription& told) {
    slot_->stream = told.number;
    slot_->view = told.view;
    slot_->device = told.device;
    const bool fits = told.set.size() + told.name.size() <= sizeof slot_->text;
    slot_->set_size = fits ? uint32_t(told.set.size()) : 0;
    slot_->name_size = fits ? uint32_t(told.name.size()) : 0;
    if (!fits) return;
    memcpy(slot_->text, told.set.data(), told.set.size());
    memcpy(slot_->text + told.set.size(), told.name.data(), told.name.size());
  }

  OpenFile* file_;
  Slot* slot_ = nullptr;
  int fd_ = -1;
  int error_ = 0;
};

// Returns the errno that forbids opening the existing file with `flags`; 0 if the open is allowed.
int refusal(const StreamStatus& found, const Place& place, int flags) {
  if (place.slash && (flags & O_CREAT)) return EISDIR;
  if ((flags & O_CREAT) && (flags & O_EXCL)) return EEXIST;
  if (place.slash || (flags & O_DIRECTORY)) return ENOTDIR;
  if (place.view() && changes(flags)) return EROFS;
  return permitted(found, wanted(flags)) ? 0 : EACCES;
}

}  // namespace

bool may_change_in(const Place& place) noexcept {
  if (geteuid() == 0) return true;
  char directory[PATH_MAX];
  const std::string_view name = place.directory();
  if (name.size() >= sizeof directory) return false;
  memcpy(directory, name.data(), name.size());
  directory[name.size()] = '\0';
  return faccessat(AT_FDCWD, name.empty() ? "/" : directory, W_OK | X_OK, AT_EACCESS) == 0;
}

bool plain_there(const Place& place) noexcept {
  struct stat status;
  if (place.folder >= 0) {
    if (fstatat(place.folder, place.last(), &status, AT_SYMLINK_NOFOLLOW) == 0) return true;
    if (errno == ENOENT) return false;
  }
  return lstat(place.path, &status) == 0 || errno != ENOENT;
}

namespace {

// Returns true in the first call for the rule of `place`, else false. `warned` holds one bit for each rule.
bool is_first(std::atomic<uint64_t>& warned, const Place& place) {
  const uint64_t bit = uint64_t{1} << (place.match.rule->number % 64);
  return !(warned.fetch_or(bit) & bit);
}

void warn_unseen(const Place& place, int error) {
  static std::atomic<uint64_t> warned{0};
  if (is_first(warned, place))
    tell("sheaf: '%s' cannot be read (%s), so what it holds is not seen: `sheaf verify` says why\n",
         printable(place.match.set).c_str(), strerror(error));
}

// Decides how an open continues if the lookup found no stream, or failed with `error`. Returns hand_on, -1
// with errno, or 0 if the set must create the file.
int without_stream(const Place& place, int flags, int error) {
  const bool makes = (flags & O_CREAT) && !(flags & O_DIRECTORY);
  if (plain_there(place) || (error == 0 && (!makes || !may_change_in(place)))) return hand_on;
  if (error != 0) return (makes ? warn_plain(place, error) : warn_unseen(place, error)), hand_on;
  if (place.view()) return failed(EROFS);
  return place.slash ? failed(EISDIR) : 0;
}

}  // namespace

void forget_limit(int error) noexcept {
  if (error == EFBIG) forget_signal(SIGXFSZ);  // pending, because signals are blocked inside
}

void warn_plain(const Place& place, int error) noexcept {
  static std::atomic<uint64_t> warned{0};
  if (!is_first(warned, place)) return;
  tell("sheaf: '%s' cannot take '%s' (%s): it is made as a plain file, and others may be\n",
       printable(place.match.set).c_str(), printable({place.path, place.size}).c_str(), strerror(error));
}

namespace {

// One open of a captured name.
class CapturedOpen : private NonCopyable {
 public:
  CapturedOpen(std::shared_ptr<ContainerSet> set, const Place& place, int flags, mode_t mode)
      : set_(std::move(set)), place_(place), flags_(flags), mode_(mode) {}

  // Opens the stream, or creates it if it does not exist. Returns 0, -1 with errno, or hand_on. Returns 0
  // without a stream after a concurrent create or remove; the caller must then try again. `is_first` is true
  // in the first attempt.
  int attempt(bool is_first) {
    std::optional<StreamStatus> found;
    const bool anew = is_first && makes_anew(flags_);
    const int error = look_up(*set_, place_.match.name, found, anew);
    forget_limit(error);
    if (found) return open_existing(*found, !anew);
    const int answer = without_stream(place_, flags_, error);
    return answer != 0 ? answer : create();
  }

  bool has_stream() const { return stream_ != nullptr; }

  // Returns the descriptor of the open stream, or -1 with errno.
  int finish() {
    if (!stream_) return failed(ENOENT);
    uint64_t number = 0;
    if (const int error = errno_of([&] { number = stream_->status().number; })) return failed(error);
    const StreamDescription told{
        number, {place_.match.set, place_.match.set_size}, place_.match.name, place_.device, place_.view()};
    return reserved_->give(std::move(stream_), set_, told);
  }

 private:
  int open_existing(const StreamStatus& found, bool asked) {
    if (const int error = refusal(found, place_, flags_)) return failed(error);
    if (const int error = reserve()) return failed(error);
    const int error =
        open({.truncate = (flags_ & O_TRUNC) && changes(flags_), .asked = asked, .write = writes(flags_)});
    return error != ENOENT ? result_of(error) : 0;
  }

  int create() {
    int error = reserve();
    if (error == 0)
      error = open({.create = true,
                    .exclusive = (flags_ & O_EXCL) != 0,
                    .truncate = (flags_ & O_TRUNC) != 0,
                    .write = true,
                    .mode = mode_ & 07777 & ~current_umask()});
    if (error == 0 || error == EEXIST || error == EMFILE) return result_of(error);
    forget_limit(error);
    warn_plain(place_, error);
    return hand_on;
  }

  int open(const StreamOpening& opening) {
    return errno_of([&] {
      auto stream = following(set_->open_stream(place_.match.name, opening));
      if (stream && opening.truncate) show_in_mappings(set_.get(), stream->status().number, 0, 0);
      stream_ = std::move(stream);
    });
  }

  int reserve() { return reserved_ ? reserved_->error() : reserved_.emplace(flags_).error(); }

  const std::shared_ptr<ContainerSet> set_;
  const Place& place_;
  const int flags_;
  const mode_t mode_;
  std::shared_ptr<ContainerStream> stream_;
  std::optional<Reserved> reserved_;
};

}  // namespace

int open_captured(const Place& place, int flags, mode_t mode) noexcept {
  if ((flags & O_TMPFILE) == O_TMPFILE) return hand_on;
  std::shared_ptr<ContainerSet> set = set_at(place.match.set, place.view());
  if (!set) return hand_on;
  CapturedOpen open(std::move(set), place, flags, mode);
  for (int attempt = 0; !open.has_stream() && attempt < 3; ++attempt)
    if (const int answer = open.attempt(attempt == 0)) return answer;
  return open.finish();
}

std::shared_ptr<ContainerStream> stream_for_writing(OpenFile& file) {
  const Slot& slot = *file.slot.load();
  auto stream = file.set->open_number(slot.stream);
  if (!stream) stream = file.set->open_stream({slot.text + slot.set_size, slot.name_size}, {.write = true});
  return stream ? following(std::move(stream)) : file.stream;
}

int open_same(OpenFile& file, int flags) noexcept {
  if (file.view && changes(flags)) return failed(EROFS);
  const Slot& slot = *file.slot.load();
  StreamStatus found;
  if (const int error = errno_of([&] { found = file.stream->status(); })) return failed(error);
  if (!permitted(found, wanted(flags))) return failed(EACCES);
  Reserved reserved(flags);
  if (reserved.error() != 0) return failed(reserved.error());
  std::shared_ptr<ContainerStream> stream = file.stream;
  if (const int error = errno_of([&] {
        if (changes(flags)) stream = stream_for_writing(file);
        if (!(flags & O_TRUNC) || !changes(flags)) return;
        stream->truncate(0);
        show_in_mappings(file.set.get(), slot.stream, 0, 0);
      }))
    return failed(error);
  const StreamDescription told{slot.stream,
                               {slot.text, slot.set_size},
                               {slot.text + slot.set_size, slot.name_size},
                               slot.device,
                               slot.view};
  return reserved.give(std::move(stream), file.set, told);
}

int open_slot(OpenFile& file, Slot* slot) noexcept {
  file.slot.store(slot);
  file.view = slot->view;
  const int error = errno_of([&] {
    file.set = set_at({slot->text, slot->set_size}, slot->view);
    if (file.set) file.stream = following(file.set->open_number(slot->stream));
  });
  return error == 0 && !file.stream ? ENOENT : error;
}

std::shared_ptr<ContainerStream> stream_at(const Place& place, bool write) noexcept {
  std::shared_ptr<ContainerStream> stream;
  errno = errno_of([&] {
    if (const auto set = set_at(place.match.set, place.view()))
      stream = set->open_stream(place.match.name, {.write = write});
  });
  return stream;
}

std::optional<StreamStatus> status_at(const Place& place) noexcept {
  std::optional<StreamStatus> found;
  if (const auto set = set_at(place.match.set, place.view())) look_up(*set, place.match.name, found);
  return found;
}

void fill(struct stat& status, const StreamStatus& found, dev_t device) noexcept {
  status = {};
  status.st_dev = device;
  status.st_ino = found.number | ours;
  status.st_mode = S_IFREG | found.mode;
  status.st_nlink = found.linked ? 1 : 0;
  status.st_uid = geteuid();
  status.st_gid = getegid();
  status.st_size = found.size;
  status.st_blksize = found.block;
  status.st_blocks = (found.size + 4095) / 4096 * 8;
  status.st_atim = status.st_mtim = time_of(found.modified);
  status.st_ctim = time_of(found.changed);
}

bool permitted(const StreamStatus& status, int access) noexcept {
  if (geteuid() == 0) return !(access & X_OK) || (status.mode & 0111);
  const uint32_t owner = status.mode >> 6;
  return (!(access & R_OK) || (owner & 4)) && (!(access & W_OK) || (owner & 2)) &&
         (!(access & X_OK) || (owner & 1));
}

void note_umask(mode_t given) noexcept { mask.store(int(given & 0777)); }

}  // namespace sheaf::preload
