#include "storage/posix/gluster_placement.hpp"

#include <sys/xattr.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "base/parse.hpp"
#include "storage/filesystem/mounts.hpp"

namespace sheaf {

namespace {

constexpr size_t max_pathinfo = 64 << 10;  // bytes; the kernel's limit for attributes

std::optional<std::string> pathinfo_of(int fd) {
  std::string value(max_pathinfo, '\0');
  const ssize_t length = ::fgetxattr(fd, "glusterfs.pathinfo", value.data(), value.size());
  if (length < 0) return std::nullopt;
  value.resize(static_cast<size_t>(length));
  return value;
}

// Returns true if the volume is dispersed. GlusterFS shows its translators in a directory of each mount; it
// names those of dispersed volumes VOLUME-disperse-NUMBER.
bool is_dispersed(const std::string& mount_point) {
  const std::filesystem::path graph = mount_point + "/.meta/graphs/active";
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(graph, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::filesystem::path& translator = entry->path();
    if (translator.filename().string().find("-disperse-") != std::string::npos &&
        trimmed(contents_of(translator / "type")) == "cluster/disperse")
      return true;
  }
  return false;
}

}  // namespace

FilePlacement placement_in(std::string_view pathinfo) {
  constexpr std::string_view brick = "<POSIX(", end_of_brick = "):";
  if (pathinfo.find("<EC:") != std::string_view::npos) return {.one_client = true, .host = {}};
  const size_t first = pathinfo.find(brick);
  if (first == std::string_view::npos) return {};
  pathinfo.remove_prefix(first + brick.size());
  if (pathinfo.find(brick) != std::string_view::npos) return {};
  const size_t end = pathinfo.find(end_of_brick);
  if (end == std::string_view::npos) return {};
  const std::string_view host = pathinfo.substr(end + end_of_brick.size());
  return {.one_client = false, .host = std::string(host.substr(0, host.find(':')))};
}

FilePlacement gluster_placement(int fd) {
  if (fd < 0) return {};
  if (const auto pathinfo = pathinfo_of(fd)) return placement_in(*pathinfo);
  const auto mount = mount_of_descriptor(fd);
  return {.one_client = mount && is_dispersed(mount->point), .host = {}};
}

}  // namespace sheaf
