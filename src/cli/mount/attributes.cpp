// cli/mount/attributes: extended attributes of files and folders, with metadata of the stream and of the
// multifile.
#include <unistd.h>

#include "cli/mount/answer.hpp"

namespace sheaf::cli {

namespace {

constexpr std::string_view prefix = "user.sheaf.";

// Replies with `text`, which must fit into `room` bytes. If `room` is 0, replies with the size of `text`
// only.
void reply(fuse_req_t request, const std::string& text, size_t room) {
  if (room == 0)
    fuse_reply_xattr(request, text.size());
  else if (text.size() > room)
    fuse_reply_err(request, ERANGE);
  else
    fuse_reply_buf(request, text.data(), text.size());
}

}  // namespace

mount::Attributes extended_attributes(const MountedFileSystem& system, fuse_ino_t number) {
  const mount::TreeNode node = node_at(system, number);
  mount::Attributes all;
  if (!node.is_folder()) return node.streams->attributes(node.stream);
  if (node.streams) all = node.streams->attributes();
  // `sheaf umount` waits for this process.
  if (number == mount::Tree::root) all.emplace_back("process", std::to_string(getpid()));
  return all;
}

void get_attribute(fuse_req_t request, fuse_ino_t number, const char* name, size_t size) {
  answer(request, [&](const MountedFileSystem& system) {
    const std::string_view wanted(name);
    if (wanted.starts_with(prefix))
      for (const auto& [own, value] : extended_attributes(system, number))
        if (wanted.substr(prefix.size()) == own) return reply(request, value, size);
    fuse_reply_err(request, ENODATA);
  });
}

void list_attributes(fuse_req_t request, fuse_ino_t number, size_t size) {
  answer(request, [&](const MountedFileSystem& system) {
    std::string names;
    for (const auto& [name, value] : extended_attributes(system, number))
      names.append(prefix).append(name).push_back('\0');
    reply(request, names, size);
  });
}

}  // namespace sheaf::cli
