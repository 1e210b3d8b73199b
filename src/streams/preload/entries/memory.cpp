// streams/preload/entries/memory: mmap of captured files. The library maps a memory file, the image, instead.
// The image of a private mapping holds the content of the range at the time of the call. The library updates
// the image of a shared mapping when this process writes to the file (streams/preload/mappings). For a
// writable shared mapping, it converts the captured file to a plain file (names/becoming_plain).
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <span>
#include <vector>

#include "base/non_copyable.hpp"
#include "storage/system/posix_transfer.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/fork_mutex.hpp"
#include "streams/preload/mappings.hpp"
#include "streams/preload/names/becoming_plain.hpp"
#include "streams/preload/own_descriptors.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

using streams::ContainerSet;

namespace {

namespace next {
constinit Real<void*(void*, size_t, int, int, int, off64_t)> mmap{"mmap64"};
constinit Real<int(void*, size_t)> munmap{"munmap"};
}  // namespace next

void* refuse(int error) {
  errno = error;
  return MAP_FAILED;
}

// A memory file with the length of a captured file. It has the bytes of the ranges that the process has
// mapped, and holes elsewhere.
class MappedImage : private NonCopyable {
 public:
  explicit MappedImage(const OpenFile& file)
      : set_(file.set), stream_(file.stream), number_(file.slot.load()->stream), process_(getpid()) {
    fd_ = own_descriptor(memfd_create("captured", MFD_CLOEXEC));
    if (fd_ < 0) throw os_error("cannot make", "copy of a captured file", errno);
  }
  ~MappedImage() { close_own_descriptor(fd_); }

  // Returns whether this is the image of the stream `number` of `set`. Returns false in a child of fork for
  // an image of the parent, because the child's writes must not change the mapping of the parent.
  bool is_of(const ContainerSet* set, uint64_t number) const {
    return number == number_ && set == set_.get() && process_ == getpid();
  }

  // Copies the length of the stream and its data in [begin, end). Skips holes, so that they need no memory
  // until the program touches them.
  void fill(int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex_);
    end = std::min(end, take_length());
    for (auto data = stream_->next_data(begin); data && *data < end; data = stream_->next_data(*data)) {
      const int64_t until = std::min(end, stream_->next_hole(*data).value_or(*data));
      if (until <= *data) return;  // truncated concurrently
      copy(*data, until);
      *data = until;
    }
  }

  // Copies the length and all bytes [begin, end). Unlike fill(), also copies holes as zeros, because the
  // image may still have old data there.
  void refill(int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex_);
    copy(begin, std::min(end, take_length()));
  }

  // Maps the image through a read-only descriptor, so that mprotect(2) cannot make the mapping writable.
  void* map(void* wanted, size_t size, int protection, int place, int64_t offset) {
    const int fd = real::open(DescriptorPath(fd_).text, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return MAP_FAILED;
    void* const mapped = next::mmap(wanted, size, protection, MAP_SHARED | place, fd, offset);
    const KeptErrno kept;
    real::close(fd);
    return mapped;
  }
  void* map_private(void* wanted, size_t size, int protection, int place, int64_t offset) {
    return next::mmap(wanted, size, protection, MAP_PRIVATE | place, fd_, offset);
  }

 private:
  static constexpr int64_t at_once = 1 << 20;

  void copy(int64_t begin, int64_t end) {
    std::vector<std::byte> bytes(size_t(std::clamp(end - begin, int64_t{0}, at_once)));
    while (begin < end) {
      const auto some = std::span(bytes).first(size_t(std::min(end - begin, at_once)));
      const size_t n = stream_->read(some, begin);
      if (n == 0) return;  // truncated concurrently; the truncating thread then updates the image
      const Moved moved = move_all(n, [&](size_t done, size_t count) {
        return pwrite64(fd_, &some[done], count, begin + int64_t(done));
      });
      if (moved.bytes < n) throw os_error("cannot fill", "copy of a captured file", moved.error);
      begin += int64_t(n);
    }
  }

  int64_t take_length() {
    const int64_t size = stream_->status().size;
    if (ftruncate64(fd_, size) != 0) throw os_error("cannot make", "copy of a captured file", errno);
    return size;
  }

  const std::shared_ptr<ContainerSet> set_;
  const std::shared_ptr<streams::ContainerStream> stream_;
  const uint64_t number_;
  const pid_t process_;
  int fd_ = -1;
  std::mutex mutex_;  // guards the content; its last holder copies the newest data
};

struct Mapping {
  uintptr_t memory, memory_end;
  int64_t begin, end;  // offsets in the file
  std::shared_ptr<MappedImage> image;
};

constinit ForkMutex mappings_mutex{Guards::mappings};

// Returns the list of mappings that the program has not unmapped. `mappings_mutex` guards the list.
std::vector<Mapping>& mappings() {
  static auto* const all = new std::vector<Mapping>;
  return *all;
}

std::shared_ptr<MappedImage> image_of(const OpenFile& file) {
  {
    const std::lock_guard guard(mappings_mutex);
    for (const Mapping& one : mappings())
      if (one.image->is_of(file.set.get(), file.slot.load()->stream)) return one.image;
  }
  return std::make_shared<MappedImage>(file);
}

uintptr_t end_of_pages(uintptr_t begin, size_t size) {
  const auto page = size_t(sysconf(_SC_PAGESIZE));
  return begin + (size + page - 1) / page * page;
}

// Removes the mappings that lie in this range of memory from the list.
void forget_mappings(const void* begin, size_t size) {
  const auto from = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t to = end_of_pages(from, size);
  std::vector<Mapping> gone;  // destroyed, and so closed, after the lock is released
  const std::lock_guard guard(mappings_mutex);
  const auto within = [&](const Mapping& one) { return one.memory < from || one.memory_end > to; };
  const auto kept = std::stable_partition(mappings().begin(), mappings().end(), within);
  gone.assign(std::move_iterator(kept), std::move_iterator(mappings().end()));
  mappings().erase(kept, mappings().end());
  mapping_count.store(int(mappings().size()));
}

// Creates a shared mapping and lists it before it fills the image. A thread that writes to the file after the
// listing updates the image, so that no write is missed.
void* map_shared(const OpenFile& file, void* wanted, size_t size, int protection, int place, int64_t offset) {
  const auto image = image_of(file);
  const int64_t end = offset + int64_t(size);
  void* const mapped = image->map(wanted, size, protection, place, offset);
  if (mapped == MAP_FAILED) return mapped;
  forget_mappings(mapped, size);  // MAP_FIXED may have replaced a listed mapping
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  try {
    {
      const std::lock_guard guard(mappings_mutex);
      mappings().push_back({begin, end_of_pages(begin, size), offset, end, image});
      mapping_count.store(int(mappings().size()));
    }
    image->fill(offset, end);
  } catch (...) {
    forget_mappings(mapped, size);
    next::munmap(mapped, size);
    throw;
  }
  return mapped;
}

bool writes_and_shares(int protection, int flags) {
  const int kind = flags & MAP_TYPE;
  return (kind == MAP_SHARED || kind == MAP_SHARED_VALIDATE) && (protection & PROT_WRITE);
}

// Converts the captured file of `fd` to a plain file if the mapping is shared and writable, and `fd` is open
// for reading and writing. Returns whether it has done so; if not, map_captured() handles the call.
bool becomes_plain(int protection, int flags, int fd) {
  if (!writes_and_shares(protection, flags)) return false;
  const Inside inside;
  {
    const Use file(fd);
    const int mode = file ? file->flags() : O_PATH;
    if ((mode & O_PATH) || (mode & O_ACCMODE) != O_RDWR) return false;
  }
  return make_descriptors_plain(fd) == 0;
}

// Returns the errno that forbids to map a file that was opened with `mode`; 0 if it can be mapped.
int refusal(int mode, size_t size, int protection, int flags, off64_t offset) {
  if (mode & O_PATH) return EBADF;
  if ((mode & O_ACCMODE) == O_WRONLY) return EACCES;
  if (size == 0 || offset < 0 || offset % sysconf(_SC_PAGESIZE) != 0) return EINVAL;
  int64_t end = 0;
  if (__builtin_add_overflow(offset, size, &end)) return EOVERFLOW;
  const int kind = flags & MAP_TYPE;
  if (kind != MAP_SHARED && kind != MAP_PRIVATE && kind != MAP_SHARED_VALIDATE) return EINVAL;
  if (!writes_and_shares(protection, flags)) return 0;
  return (mode & O_ACCMODE) == O_RDONLY ? EACCES : ENODEV;
}

void* map_captured(void* wanted, size_t size, int protection, int flags, int fd, off64_t offset) {
  const Use file(fd);
  if (!file) return refuse(EBADF);
  if (const int error = refusal(file->flags(), size, protection, flags, offset)) return refuse(error);
  const int place = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_32BIT | MAP_NORESERVE);
  void* mapped = MAP_FAILED;
  int why = 0;
  const int error = errno_of([&] {
    if ((flags & MAP_TYPE) == MAP_PRIVATE) {
      MappedImage copy(*file);
      copy.fill(offset, offset + int64_t(size));
      mapped = copy.map_private(wanted, size, protection, place, offset);
    } else {
      mapped = map_shared(*file, wanted, size, protection, place, offset);
    }
    why = errno;
  });
  if (error != 0) why = error;
  return mapped == MAP_FAILED ? refuse(why) : mapped;
}

}  // namespace

void follow_in_mappings(const ContainerSet* set, uint64_t stream, int64_t begin, int64_t end) noexcept {
  errno_of([&] {
    std::vector<Mapping> affected;
    {
      const std::lock_guard guard(mappings_mutex);
      for (const Mapping& one : mappings())
        if (one.image->is_of(set, stream)) affected.push_back(one);
    }
    for (const Mapping& one : affected) one.image->refill(std::max(begin, one.begin), std::min(end, one.end));
  });
}

SHEAF_ENTRY_AND(void*, mmap, mmap64, void* wanted, size_t size, int protection, int flags, int fd,
                off64_t offset) {
  return is_captured(fd) && !(flags & MAP_ANONYMOUS) && !becomes_plain(protection, flags, fd)
             ? map_captured(wanted, size, protection, flags, fd, offset)
             : next::mmap(wanted, size, protection, flags, fd, offset);
}

SHEAF_ENTRY(int, munmap, void* memory, size_t size) {
  if (mapping_count.load(std::memory_order_relaxed) != 0 && !is_inside() &&
      reinterpret_cast<uintptr_t>(memory) % size_t(sysconf(_SC_PAGESIZE)) == 0) {
    const Inside inside;
    forget_mappings(memory, size);  // before another thread reuses the addresses
  }
  return next::munmap(memory, size);
}

}  // namespace sheaf::preload
