#include "storage/posix/file_attributes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "storage/system/posix_attribute.hpp"

namespace sheaf {

namespace {

constexpr const char* access_list = "system.posix_acl_access";

// Returns true for attributes of users. All other attributes belong to the system or to the file system,
// which sets its own on a new file.
bool is_users(std::string_view name) {
  return name.starts_with("user.") || name == access_list || name == "system.nfs4_acl" ||
         name == "security.selinux";
}

// Returns the names of the extended attributes. `file` is a name below /proc, since an O_PATH descriptor
// gives no access to attributes.
std::vector<std::string> attributes_of(const std::string& file) {
  std::vector<char> names(std::max<ssize_t>(0, ::listxattr(file.c_str(), nullptr, 0)));
  names.resize(
      static_cast<size_t>(std::max<ssize_t>(0, ::listxattr(file.c_str(), names.data(), names.size()))));
  std::vector<std::string> found;
  for (size_t at = 0; at < names.size(); at += found.back().size() + 1) found.emplace_back(&names[at]);
  std::erase_if(found, [](const std::string& name) { return !is_users(name); });
  return found;
}

void copy_extended_attributes(int from, int to) {
  const std::string file = "/proc/self/fd/" + std::to_string(from);
  const std::vector<std::string> names = attributes_of(file);
  // Removes the access list that the directory has set on the new file.
  if (std::ranges::find(names, access_list) == names.end()) ::fremovexattr(to, access_list);
  for (const std::string& name : names)
    if (const auto value = attribute_of(file, name.c_str()))
      ::fsetxattr(to, name.c_str(), value->data(), value->size(), 0);
}

}  // namespace

void copy_file_attributes(int from, int to) {
  struct stat wanted;
  struct stat given;
  if (::fstat(from, &wanted) != 0 || ::fstat(to, &given) != 0) return;
  mode_t mode = wanted.st_mode & 07777;
  if (wanted.st_uid != given.st_uid || wanted.st_gid != given.st_gid) {
    const bool owner = ::fchown(to, wanted.st_uid, wanted.st_gid) == 0;
    const bool group =
        owner || wanted.st_gid == given.st_gid || ::fchown(to, static_cast<uid_t>(-1), wanted.st_gid) == 0;
    if (!owner) mode &= 01777;
    // If the group could not be copied, the members of the file's own group get no more than the permissions
    // of other users.
    if (!group) mode = (mode & ~070u) | (mode & ((mode & 07) << 3));
  }
  copy_extended_attributes(from, to);
  ::fchmod(to, mode);
}

}  // namespace sheaf
