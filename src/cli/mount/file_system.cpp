#include "cli/mount/file_system.hpp"

#include <sys/statvfs.h>

#include "cli/mount/answer.hpp"

namespace sheaf::cli {

namespace {

constexpr blksize_t preferred_request =
    1 << 20;  // what cat and cp read at once, and as much as a request can have
constexpr unsigned most_in_background = 64;  // requests of the kernel's read-ahead under way

void begin(void*, fuse_conn_info* connection) {
  connection->want &=
      ~static_cast<unsigned>(FUSE_CAP_AUTO_INVAL_DATA);  // times that change would drop what is kept
  connection->max_background = most_in_background;
}

void look_up(fuse_req_t request, fuse_ino_t folder, const char* name) {
  answer(request, [&](const FileSystem& system) {
    fuse_entry_param entry{};
    entry.attr_timeout = entry.entry_timeout = for_long;
    if (const auto node = system.tree.find(folder, name)) {
      entry.ino = node->number;
      entry.attr = attributes_of(system, *node);
    }
    fuse_reply_entry(request, &entry);  // of number 0: that there is none may be kept, too
  });
}

void get_attributes(fuse_req_t request, fuse_ino_t number, fuse_file_info*) {
  answer(request, [&](const FileSystem& system) {
    const struct stat attributes = attributes_of(system, node_at(system, number));
    fuse_reply_attr(request, &attributes, for_long);
  });
}

void open_file(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
  answer(request, [&](const FileSystem& system) {
    const mount::Node node = node_at(system, number);
    auto reader = node.streams->open(node.stream);
    info->keep_cache = 1;
    info->fh = reinterpret_cast<uint64_t>(reader.get());
    // One that was interrupted is closed by nobody.
    if (fuse_reply_open(request, info) == 0) static_cast<void>(reader.release());
  });
}

void read_file(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info* info) {
  answer(request, [&](const FileSystem&) {
    thread_local std::vector<std::byte> buffer;
    if (buffer.size() < size) buffer.resize(size);
    auto& reader = *reinterpret_cast<mount::Reader*>(info->fh);
    const size_t bytes = reader.read_at(std::span(buffer).first(size), offset);
    fuse_reply_buf(request, reinterpret_cast<const char*>(buffer.data()), bytes);
  });
}

void close_file(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  delete reinterpret_cast<mount::Reader*>(info->fh);
  fuse_reply_err(request, 0);
}

void open_folder(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  info->cache_readdir = info->keep_cache = 1;
  fuse_reply_open(request, info);
}

void tell_room(fuse_req_t request, fuse_ino_t) {
  answer(request, [&](const FileSystem& system) {
    struct statvfs room {};
    room.f_bsize = room.f_frsize = 4096;
    room.f_blocks = static_cast<fsblkcnt_t>(system.tree.bytes()) / room.f_frsize;
    room.f_files = static_cast<fsfilcnt_t>(system.tree.files());
    room.f_namemax = 255;
    fuse_reply_statfs(request, &room);
  });
}

}  // namespace

Look look_of(const std::string& path) {
  struct stat of_file {};
  if (path.starts_with("sfio:")) return {getuid(), getgid(), 0444, 0555, {}};
  if (stat(path.c_str(), &of_file) != 0) throw os_error("cannot look at", path, errno);
  const mode_t readable = of_file.st_mode & 0444;
  return {of_file.st_uid, of_file.st_gid, readable, readable | readable >> 2, of_file.st_mtim};
}

struct stat attributes_of(const FileSystem& system, const mount::Node& node) {
  const Look& look = system.looks[node.multifile];
  struct stat attributes {};
  attributes.st_ino = node.number;
  attributes.st_uid = look.owner;
  attributes.st_gid = look.group;
  attributes.st_atim = attributes.st_mtim = attributes.st_ctim = look.changed;
  attributes.st_blksize = preferred_request;
  if (node.is_folder()) {
    attributes.st_mode = S_IFDIR | look.folder_mode;
    attributes.st_nlink = static_cast<nlink_t>(2 + system.tree.subfolders(node.number));
  } else {
    attributes.st_mode = S_IFREG | look.file_mode;
    attributes.st_nlink = 1;
    attributes.st_size = node.streams->size(node.stream);
    attributes.st_blocks = (attributes.st_size + 511) / 512;
  }
  return attributes;
}

const fuse_lowlevel_ops& operations() {
  static const fuse_lowlevel_ops all = [] {
    fuse_lowlevel_ops ops{};
    ops.init = begin;
    ops.lookup = look_up;
    ops.getattr = get_attributes;
    ops.open = open_file;
    ops.read = read_file;
    ops.release = close_file;
    ops.opendir = open_folder;
    ops.readdir = read_folder;
    ops.readdirplus = read_folder_plus;
    ops.getxattr = get_attribute;
    ops.listxattr = list_attributes;
    ops.statfs = tell_room;
    return ops;
  }();
  return all;
}

}  // namespace sheaf::cli
