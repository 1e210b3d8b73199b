// storage/filesystem/mounts: parses mountinfo.
#include "storage/filesystem/mounts.hpp"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/parse.hpp"
#include "storage/system/posix_descriptor.hpp"

namespace sheaf {

namespace {

std::string_view cut(std::string_view& text, char until) {
  const size_t end = std::min(text.find(until), text.size());
  const auto taken = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + 1));
  return taken;
}

bool is_octal(std::string_view digits) {
  return digits.size() == 3 && digits[0] <= '3' &&
         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '7'; });
}

std::string unescaped(std::string_view field) {
  std::string text;
  for (size_t at = 0; at < field.size(); ++at) {
    const auto digits = field.substr(at + 1, field[at] == '\\' ? 3 : 0);
    if (!is_octal(digits)) {
      text += field[at];
      continue;
    }
    text += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
    at += 3;
  }
  return text;
}

// Parses: ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS
std::optional<Mount> parse_line(std::string_view line) {
  Mount mount;
  const auto id = parse_number(cut(line, ' '));
  cut(line, ' ');
  mount.device = cut(line, ' ');
  cut(line, ' ');
  mount.point = unescaped(cut(line, ' '));
  mount.options = unescaped(cut(line, ' '));
  while (!line.empty() && cut(line, ' ') != "-") continue;
  mount.type = unescaped(cut(line, ' '));
  mount.source = unescaped(cut(line, ' '));
  if (!id || mount.type.empty() || !mount.point.starts_with('/')) return std::nullopt;
  mount.id = *id;
  if (!line.empty()) mount.options += "," + unescaped(line);
  return mount;
}

bool is_at_or_below(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

// Returns the mount id in /proc/self/fdinfo; nothing on systems that do not report it.
std::optional<int64_t> mount_id_of(int fd) {
  const std::string text = contents_of("/proc/self/fdinfo/" + std::to_string(fd));
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view value = cut(rest, '\n');
    if (cut(value, ':') == "mnt_id") return parse_number(trimmed(value));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> value_in(std::string_view list, char separator, std::string_view name) {
  std::optional<std::string_view> found;
  while (!list.empty()) {
    std::string_view value = cut(list, separator);
    if (trimmed(cut(value, '=')) == name) found = value;
  }
  return found;
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Mount> parse_mounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  while (!mountinfo.empty())
    if (auto mount = parse_line(cut(mountinfo, '\n'))) mounts.push_back(std::move(*mount));
  return mounts;
}

const Mount* mount_at(const std::vector<Mount>& mounts, std::string_view path) {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts)
    if (is_at_or_below(path, mount.point) && (!best || mount.point.size() >= best->point.size()))
      best = &mount;
  return best;
}

std::optional<Mount> mounted_on(const std::string& directory) {
  const auto mounts = parse_mounts(contents_of("/proc/self/mountinfo"));
  const auto last = std::ranges::find(mounts.rbegin(), mounts.rend(), directory, &Mount::point);
  return last == mounts.rend() ? std::nullopt : std::optional(*last);
}

// Finds the mount by its id, which is exact even if one mount covers another. On systems without mount ids,
// finds it by the name of the file.
std::optional<Mount> mount_of_descriptor(int fd) {
  const auto mounts = parse_mounts(contents_of("/proc/self/mountinfo"));
  if (const auto id = mount_id_of(fd)) {
    const auto found = std::ranges::find(mounts, *id, &Mount::id);
    // Not found: the mount is in another namespace, reached through /proc/PID/root.
    return found == mounts.end() ? std::nullopt : std::optional(*found);
  }
  std::error_code ignored;
  const auto name = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), ignored);
  const Mount* const found = mount_at(mounts, name.native());
  return found ? std::optional(*found) : std::nullopt;
}

std::optional<Mount> mount_of(const std::string& path) {
  const PosixDescriptor found(open_at(AT_FDCWD, path, O_PATH));
  return found.get() >= 0 ? mount_of_descriptor(found.get()) : std::nullopt;
}

}  // namespace sheaf
