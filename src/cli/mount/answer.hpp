// cli/mount/answer: helps request handlers to send exactly one reply to each kernel request, even after an
// error.
#pragma once

#include <cerrno>
#include <cstdio>
#include <new>

#include "base/error.hpp"
#include "cli/mount/file_system.hpp"

namespace sheaf::cli {

inline const MountedFileSystem& file_system_of(fuse_req_t request) {
  return *static_cast<const MountedFileSystem*>(fuse_req_userdata(request));
}

// Returns the errno to be sent to the program: that of the error, or EIO if it has none, as for damaged data.
inline int errno_of(const Error& error) { return error.errno_value() != 0 ? error.errno_value() : EIO; }

// Runs `body`, which must reply as its last step; replies with an error if it throws.
template <class Body>
void answer(fuse_req_t request, Body&& body) noexcept {
  try {
    body(file_system_of(request));
  } catch (const Error& error) {
    if (file_system_of(request).foreground) std::fprintf(stderr, "sheaf: %s\n", error.what());
    fuse_reply_err(request, errno_of(error));
  } catch (const std::bad_alloc&) {
    fuse_reply_err(request, ENOMEM);
  } catch (...) {
    fuse_reply_err(request, EIO);
  }
}

// Returns the file or folder with this number in the tree; throws ENOENT.
inline mount::TreeNode node_at(const MountedFileSystem& system, fuse_ino_t number) {
  if (const auto node = system.tree.at(number)) return *node;
  throw Error(Code::not_found, "there is no file with number " + std::to_string(number), ENOENT);
}

// Returns the set to which new streams of this folder are written; null if the folder is read-only.
inline mount::LiveSet* live_in(const MountedFileSystem& system, fuse_ino_t folder) {
  const bool is_there = system.live && (folder == mount::Tree::root || system.live->has(folder));
  return is_there ? system.live.get() : nullptr;
}
// Returns the set that this file or folder belongs to; null if it is read-only.
inline mount::LiveSet* live_at(const MountedFileSystem& system, fuse_ino_t number) {
  return system.live && system.live->has(number) ? system.live.get() : nullptr;
}
// Throws EROFS if `set` is null.
inline mount::LiveSet& writable(mount::LiveSet* set) {
  if (set) return *set;
  throw Error(Code::permission, "the tasks of a multifile can only be read", EROFS);
}

// State of an open file or folder; stored in the fh field, which is 0 if the kernel has opened the file or
// folder without a request.
struct FuseHandle {
  std::unique_ptr<mount::ReadableStream> reader;          // a file of the tree
  std::shared_ptr<streams::ContainerStream> stream;       // a file of the live set
  std::vector<mount::LiveSet::LiveSetEntry> of_live_set;  // entries of an open folder after those of the tree
};
inline FuseHandle& opened(const fuse_file_info* info) { return *reinterpret_cast<FuseHandle*>(info->fh); }

// Replies to an open request. If the request was interrupted, the kernel sends no release, so the state is
// freed here.
inline void reply_opened(fuse_req_t request, std::unique_ptr<FuseHandle> what, fuse_file_info* info) {
  info->fh = reinterpret_cast<uint64_t>(what.get());
  if (fuse_reply_open(request, info) == 0) static_cast<void>(what.release());
}

// Replies to an open request such that the kernel sends neither further opens of files, or folders, nor
// releases. It keeps cached bytes and listings.
inline void refuse_opens(fuse_req_t request) { fuse_reply_err(request, ENOSYS); }

// Returns the extended attributes of a file or folder. Their names lack the prefix "user.sheaf.".
mount::Attributes extended_attributes(const MountedFileSystem& system, fuse_ino_t number);

// Return the attributes of a file or folder, of the tree or of a live set. The function for the tree throws
// the errors of determining a stream's size.
struct stat attributes_of(const MountedFileSystem& system, const mount::TreeNode& node);
struct stat attributes_of(const MountedFileSystem& system, const mount::LiveSet::LiveEntry& found);
fuse_entry_param entry_of(const MountedFileSystem& system, const mount::LiveSet::LiveEntry& found);

// Times in seconds for which the kernel may cache a reply: for_long if the content cannot change,
// for_a_moment if other programs may change it.
inline constexpr double for_long = 30 * 24 * 3600.0;
inline constexpr double for_a_moment = 1;

// Handlers of requests for folders and for extended attributes. add_writing() adds the handlers that change a
// live set to `operations`.
void open_folder(fuse_req_t request, fuse_ino_t number, fuse_file_info* info);
void read_folder(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info* info);
void read_folder_plus(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info* info);
void close_opened(fuse_req_t request, fuse_ino_t number, fuse_file_info* info);
void get_attribute(fuse_req_t request, fuse_ino_t number, const char* name, size_t size);
void list_attributes(fuse_req_t request, fuse_ino_t number, size_t size);
void add_writing(fuse_lowlevel_ops& operations);

}  // namespace sheaf::cli
