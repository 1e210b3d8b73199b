#include "cli/mount/file_system.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>

#include <new>

#include "base/bytes.hpp"
#include "base/thread_value.hpp"
#include "cli/mount/answer.hpp"
#include "cli/mount/image.hpp"
#include "cli/mount/stream_prefetcher.hpp"
#include "storage/times.hpp"

namespace sheaf::cli {

namespace {

// Maximum size of a request, in bytes. Reported as the block size of files, so that cat and cp read this many
// bytes at once.
constexpr blksize_t preferred_request = 1 << 20;
// Maximum number of files of a mount in which every listing has attributes, which save programs such as tar a
// lookup per file. The kernel allocates about 1 KiB per entry with attributes until the unmount.
constexpr int64_t max_with_attributes = 1 << 17;
constexpr unsigned max_in_background = 64;  // read-ahead requests of the kernel in flight

void begin(void* user_data, fuse_conn_info* connection) {
  // With this flag, a changed modification time would invalidate cached data.
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_AUTO_INVAL_DATA);
  connection->max_background = max_in_background;
  // The kernel uses the minimum of this value and of the read-ahead of the mount, which read_ahead_far()
  // raises.
  connection->max_readahead = preferred_request;
  auto& system = *static_cast<MountedFileSystem*>(user_data);
  if (!system.prefetcher) return;
  // With this flag, only the first part of a listing has attributes if the program looks at the files later.
  if (system.tree.files() <= max_with_attributes)
    connection->want &= ~static_cast<unsigned>(FUSE_CAP_READDIRPLUS_AUTO);
  system.opens_files = (connection->capable & FUSE_CAP_NO_OPEN_SUPPORT) == 0;
  system.opens_folders = (connection->capable & FUSE_CAP_NO_OPENDIR_SUPPORT) == 0;
}

// Returns the attributes of the image file. They lack the size, which is unknown until the image is opened,
// and which no program needs.
struct stat attributes_of_image() {
  struct stat attributes {};
  attributes.st_ino = Front::image_number;
  attributes.st_mode = S_IFREG | S_IRUSR;
  attributes.st_nlink = 1;
  attributes.st_size = erofs::max_blocks * erofs::block_size;
  return attributes;
}

void look_up(fuse_req_t request, fuse_ino_t folder, const char* name) {
  answer(request, [&](const MountedFileSystem& system) {
    fuse_entry_param entry{};
    mount::LiveSet* const live = live_in(system, folder);
    if (system.front && system.front->shows(request, name)) {
      entry.ino = Front::image_number;
      entry.attr = attributes_of_image();
    } else if (const auto node = system.tree.find(folder, name)) {
      entry.attr_timeout = entry.entry_timeout = for_long;
      entry.ino = node->number;
      entry.attr = attributes_of(system, *node);
    } else if (live) {
      const auto found = live->find(folder, name);
      if (!found) {
        fuse_reply_err(request, ENOENT);
        return;
      }
      entry = entry_of(system, *found);
    } else {
      entry.entry_timeout = for_long;  // with number 0, the kernel caches that the name does not exist
    }
    fuse_reply_entry(request, &entry);
  });
}

void get_attributes(fuse_req_t request, fuse_ino_t number, fuse_file_info*) {
  answer(request, [&](const MountedFileSystem& system) {
    mount::LiveSet* const live = live_at(system, number);
    const struct stat attributes = number == Front::image_number ? attributes_of_image()
                                   : live                        ? attributes_of(system, live->at(number))
                                          : attributes_of(system, node_at(system, number));
    fuse_reply_attr(request, &attributes, live_in(system, number) ? for_a_moment : for_long);
  });
}

void forget(fuse_req_t request, fuse_ino_t number, uint64_t times) {
  if (mount::LiveSet* const live = live_at(file_system_of(request), number)) live->forget(number, times);
  fuse_reply_none(request);
}

void open_file(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
  answer(request, [&](const MountedFileSystem& system) {
    if (!system.opens_files) return refuse_opens(request);
    // An open with O_TRUNC must truncate the file itself, because the kernel sends no separate request for
    // that.
    const bool truncate = info->flags & O_TRUNC;
    const bool write = truncate || (info->flags & O_ACCMODE) != O_RDONLY;
    auto what = std::make_unique<FuseHandle>();
    if (number == Front::image_number) {
      what->reader = std::make_unique<Image>(system);
      info->direct_io = 1;  // not cached here, because the kernel caches the files of the image
    } else if (mount::LiveSet* const live = live_at(system, number)) {
      what->stream = live->open(number, write, truncate);
    } else {
      if (write) writable(nullptr);
      const mount::TreeNode node = node_at(system, number);
      what->reader = node.streams->open(node.stream);
      info->keep_cache = 1;
    }
    reply_opened(request, std::move(what), info);
  });
}

size_t read_from(const MountedFileSystem& system, fuse_ino_t number, std::span<std::byte> out, off_t offset,
                 const fuse_file_info* info) {
  if (info->fh == 0) return system.readers->of(node_at(system, number))->read_at(out, offset);
  const FuseHandle& what = opened(info);
  return what.stream ? what.stream->read(out, offset) : what.reader->read_at(out, offset);
}

void read_file(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info* info) {
  const MountedFileSystem& system = file_system_of(request);  // the request is invalid after the reply
  StreamPrefetcher* const prefetcher = offset == 0 ? system.prefetcher : nullptr;
  bool is_read = false;
  answer(request, [&](const MountedFileSystem&) {
    static constinit ThreadValue<LineBytes> buffers;
    LineBytes* const buffer = buffers.get();
    if (!buffer) throw std::bad_alloc();
    if (buffer->size() < size) buffer->resize(size);
    const auto out = std::span(*buffer).first(size);
    const size_t bytes = read_from(system, number, out, offset, info);
    is_read = true;
    if (prefetcher) prefetcher->before_reply(number);
    fuse_reply_buf(request, reinterpret_cast<const char*>(buffer->data()), bytes);
  });
  if (prefetcher) prefetcher->after_reply(number);
  if (number == Front::image_number && !is_read) system.front->drop();
}

// Reports the size of the content and, if the mount is writable, the free space.
void tell_room(fuse_req_t request, fuse_ino_t) {
  answer(request, [&](const MountedFileSystem& system) {
    struct statvfs room {};
    if (system.live) {
      if (statvfs(system.beside.c_str(), &room) != 0) throw os_error("cannot look at", system.beside, errno);
    } else {
      room.f_bsize = room.f_frsize = 4096;
      room.f_blocks = static_cast<fsblkcnt_t>(system.tree.bytes()) / room.f_frsize;
      room.f_files = static_cast<fsfilcnt_t>(system.tree.files());
    }
    room.f_namemax = 255;
    fuse_reply_statfs(request, &room);
  });
}

struct stat attributes_of(const MountAttributes& look, uint64_t number, bool is_folder) {
  struct stat attributes {};
  attributes.st_ino = number;
  attributes.st_uid = look.owner;
  attributes.st_gid = look.group;
  attributes.st_mode = is_folder ? S_IFDIR | look.folder_mode : S_IFREG | look.file_mode;
  attributes.st_nlink = is_folder ? 2 : 1;
  attributes.st_atim = attributes.st_mtim = attributes.st_ctim = look.changed;
  attributes.st_blksize = preferred_request;
  return attributes;
}

void set_size(struct stat& attributes, int64_t size) {
  attributes.st_size = size;
  attributes.st_blocks = (size + 511) / 512;
}

}  // namespace

MountAttributes look_of(const std::string& path) {
  struct stat of_file {};
  if (path.starts_with("sfio:")) return {getuid(), getgid(), 0444, 0555, {}};
  if (stat(path.c_str(), &of_file) != 0) throw os_error("cannot look at", path, errno);
  const mode_t readable = of_file.st_mode & 0444;
  return {of_file.st_uid, of_file.st_gid, readable, readable | readable >> 2, of_file.st_mtim};
}

struct stat attributes_of(const MountedFileSystem& system, const mount::TreeNode& node) {
  const bool is_live = live_in(system, node.number) != nullptr;
  const MountAttributes& look = is_live ? system.live_look : system.looks[node.multifile];
  struct stat attributes = attributes_of(look, node.number, node.is_folder());
  if (node.is_folder()) {
    attributes.st_nlink += static_cast<nlink_t>(system.tree.subfolders(node.number));
    return attributes;
  }
  const mount::StreamFacts facts = node.streams->facts(node.stream);
  set_size(attributes, facts.size);
  if (facts.mode != 0) attributes.st_mode = S_IFREG | (facts.mode & look.folder_mode);
  if (facts.modified != 0) attributes.st_mtim = attributes.st_ctim = time_of(facts.modified);
  return attributes;
}

struct stat attributes_of(const MountedFileSystem& system, const mount::LiveSet::LiveEntry& found) {
  struct stat attributes = attributes_of(system.live_look, found.number, found.is_folder);
  if (found.is_folder) return attributes;
  set_size(attributes, found.status.size);
  attributes.st_mode = S_IFREG | (found.status.mode & 0777);
  attributes.st_nlink = found.status.linked ? 1 : 0;
  attributes.st_atim = attributes.st_mtim = time_of(found.status.modified);
  attributes.st_ctim = time_of(found.status.changed);
  return attributes;
}

fuse_entry_param entry_of(const MountedFileSystem& system, const mount::LiveSet::LiveEntry& found) {
  fuse_entry_param entry{};
  entry.ino = found.number;
  entry.attr = attributes_of(system, found);
  entry.attr_timeout = entry.entry_timeout = for_a_moment;
  return entry;
}

void close_opened(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
  delete &opened(info);
  if (number == Front::image_number) file_system_of(request).front->released();
  fuse_reply_err(request, 0);
}

fuse_lowlevel_ops operations(bool writable) {
  fuse_lowlevel_ops ops{};
  ops.init = begin;
  ops.lookup = look_up;
  ops.forget = forget;
  ops.getattr = get_attributes;
  ops.open = open_file;
  ops.read = read_file;
  ops.release = close_opened;
  ops.opendir = open_folder;
  ops.readdir = read_folder;
  ops.readdirplus = read_folder_plus;
  ops.releasedir = close_opened;
  ops.getxattr = get_attribute;
  ops.listxattr = list_attributes;
  ops.statfs = tell_room;
  if (writable) add_writing(ops);
  return ops;
}

}  // namespace sheaf::cli
