#include "base/os/memory.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "base/parse.hpp"

namespace sheaf {

namespace {

std::string text_of(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (!file) return {};
  char text[4096];
  return std::string(text, std::fread(text, 1, sizeof text, file.get()));
}

std::optional<int64_t> number_in(const std::string& path) { return parse_number(trimmed(text_of(path))); }

// Returns the number in the line "NAME: N kB".
std::optional<int64_t> line_of(const std::string& text, std::string_view name) {
  const size_t at = text.find(name);
  long long kilobytes = 0;
  if (at == std::string::npos || std::sscanf(text.c_str() + at + name.size(), ": %lld kB", &kilobytes) != 1)
    return std::nullopt;
  return int64_t{kilobytes} << 10;
}

// Returns the folder of this process's control group, version 2.
std::string control_group() {
  const std::string text = text_of("/proc/self/cgroup");
  const size_t at = text.rfind("0::", std::string::npos);
  return at == std::string::npos ? std::string()
                                 : "/sys/fs/cgroup" + text.substr(at + 3, text.find('\n', at) - at - 3) + "/";
}

}  // namespace

int64_t available_memory() {
  int64_t available = line_of(text_of("/proc/meminfo"), "MemAvailable").value_or(int64_t{1} << 30);
  const std::string group = control_group();
  const auto limit = group.empty() ? std::nullopt : number_in(group + "memory.max");
  const auto used = limit ? number_in(group + "memory.current") : std::nullopt;
  if (used) available = std::min(available, std::max<int64_t>(0, *limit - *used));
  return available;
}

}  // namespace sheaf
