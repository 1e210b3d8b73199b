// cli/mount/writing: handlers of requests that change a live set. When a write is acknowledged, its bytes are
// in a container.
#include <fcntl.h>

#include <ctime>

#include "cli/mount/answer.hpp"
#include "storage/times.hpp"

namespace sheaf::cli {

namespace {

// Runs `body` and replies without data.
template <class Body>
void answer_done(fuse_req_t request, Body&& body) {
  answer(request, [&](const MountedFileSystem& system) {
    body(system);
    fuse_reply_err(request, 0);
  });
}

void create_file(fuse_req_t request, fuse_ino_t folder, const char* name, mode_t mode, fuse_file_info* info) {
  answer(request, [&](const MountedFileSystem& system) {
    auto what = std::make_unique<FuseHandle>();
    const auto created = writable(live_in(system, folder))
                             .create(folder, name, mode & 0777, info->flags & O_EXCL, info->flags & O_TRUNC);
    what->stream = created.stream;
    const fuse_entry_param entry = entry_of(system, created.found);
    info->fh = reinterpret_cast<uint64_t>(what.get());
    if (fuse_reply_create(request, &entry, info) == 0) static_cast<void>(what.release());
  });
}

void write_file(fuse_req_t request, fuse_ino_t, const char* data, size_t size, off_t offset,
                fuse_file_info* info) {
  answer(request, [&](const MountedFileSystem&) {
    const auto bytes = std::as_bytes(std::span(data, size));
    streams::ContainerStream& stream = *opened(info).stream;
    const int64_t written = info->flags & O_APPEND ? stream.append(bytes).bytes : stream.write(bytes, offset);
    fuse_reply_write(request, static_cast<size_t>(written));
  });
}

// Handles the close of a descriptor. Publishes all bytes, so that programs on other hosts that open the
// stream later can read them.
void flush_file(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  answer_done(request, [&](const MountedFileSystem&) {
    if (opened(info).stream) opened(info).stream->flush();
  });
}

void sync_file(fuse_req_t request, fuse_ino_t, int, fuse_file_info* info) {
  answer_done(request, [&](const MountedFileSystem&) {
    if (opened(info).stream) opened(info).stream->sync();
  });
}

void allocate(fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length, fuse_file_info* info) {
  answer_done(request, [&](const MountedFileSystem&) {
    const auto what = allocation_of(mode);
    if (!what) throw Error(Code::unsupported, "bytes of a range cannot be moved", EOPNOTSUPP);
    opened(info).stream->allocate(offset, length, extends(mode), *what);
  });
}

// Changes the size, the mode and the modification time. Refuses another owner, which is fixed for the whole
// mount. Ignores access times, which sets do not store.
void set_attributes(fuse_req_t request, fuse_ino_t number, struct stat* wanted, int which,
                    fuse_file_info* info) {
  answer(request, [&](const MountedFileSystem& system) {
    mount::LiveSet& live = writable(live_at(system, number));
    const MountAttributes& look = system.live_look;
    if (((which & FUSE_SET_ATTR_UID) && wanted->st_uid != look.owner) ||
        ((which & FUSE_SET_ATTR_GID) && wanted->st_gid != look.group))
      throw Error(Code::permission, "files in a mount belong to who has mounted", EPERM);
    if (which & FUSE_SET_ATTR_SIZE)
      info ? opened(info).stream->truncate(wanted->st_size) : live.truncate(number, wanted->st_size);
    streams::StreamAttributes attributes;
    if (which & FUSE_SET_ATTR_MODE) attributes.mode = wanted->st_mode & 0777;
    if (which & FUSE_SET_ATTR_MTIME) attributes.modified = nanoseconds(wanted->st_mtim);
    if (which & FUSE_SET_ATTR_MTIME_NOW) attributes.modified = nanoseconds_now();
    if (attributes.mode || attributes.modified) live.set(number, attributes);
    const struct stat attributes_now = attributes_of(system, live.at(number));
    fuse_reply_attr(request, &attributes_now, for_a_moment);
  });
}

void make_folder(fuse_req_t request, fuse_ino_t folder, const char* name, mode_t) {
  answer(request, [&](const MountedFileSystem& system) {
    const fuse_entry_param entry =
        entry_of(system, writable(live_in(system, folder)).make_folder(folder, name));
    fuse_reply_entry(request, &entry);
  });
}

// Returns the live set for a change of `name`. Throws EROFS for entries of the tree, which are read-only.
mount::LiveSet& with_entry(const MountedFileSystem& system, fuse_ino_t folder, const char* name) {
  return writable(system.tree.find(folder, name) ? nullptr : live_in(system, folder));
}

void remove_file(fuse_req_t request, fuse_ino_t folder, const char* name) {
  answer_done(request, [&](const MountedFileSystem& system) {
    with_entry(system, folder, name).remove(folder, name);
  });
}

void remove_folder(fuse_req_t request, fuse_ino_t folder, const char* name) {
  answer_done(request, [&](const MountedFileSystem& system) {
    with_entry(system, folder, name).remove_folder(folder, name);
  });
}

void rename_file(fuse_req_t request, fuse_ino_t folder, const char* name, fuse_ino_t to_folder,
                 const char* to, unsigned flags) {
  answer_done(request, [&](const MountedFileSystem& system) {
    if ((flags & ~unsigned{RENAME_NOREPLACE}) != 0)
      throw Error(Code::unsupported, "names cannot be exchanged", EINVAL);
    with_entry(system, to_folder, to);
    with_entry(system, folder, name).rename(folder, name, to_folder, to, (flags & RENAME_NOREPLACE) != 0);
  });
}

}  // namespace

void add_writing(fuse_lowlevel_ops& ops) {
  ops.create = create_file;
  ops.write = write_file;
  ops.flush = flush_file;
  ops.fsync = sync_file;
  ops.fallocate = allocate;
  ops.setattr = set_attributes;
  ops.mkdir = make_folder;
  ops.unlink = remove_file;
  ops.rmdir = remove_folder;
  ops.rename = rename_file;
}

}  // namespace sheaf::cli
