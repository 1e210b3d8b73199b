#include "base/os/process_identity.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>

namespace sheaf {

namespace {

// Returns the first line of a small kernel file; empty if it cannot be read.
std::string line_of(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  std::array<char, 1024> line{};
  if (!file || !std::fgets(line.data(), line.size(), file.get())) return {};
  return {line.data(), std::strcspn(line.data(), "\n")};
}

struct Life {
  char state = '?';
  uint64_t started = 0;
};

// Parses /proc/PID/stat (proc(5)). The name in parentheses may contain anything; the state, the third field,
// follows it.
std::optional<Life> life_of(int64_t pid) {
  const std::string line = line_of("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  Life life;
  fields >> life.state;
  std::string field;
  for (int number = 4; number < 22; ++number) fields >> field;
  fields >> life.started;
  return fields ? std::optional(life) : std::nullopt;
}

// Returns the scope in which process numbers are unique: the IDs of the host's boot and of the PID namespace.
// Returns an empty string if they cannot be read.
std::string boot_and_space() {
  const std::string boot = line_of("/proc/sys/kernel/random/boot_id");
  std::array<char, 64> space{};
  const ssize_t length = ::readlink("/proc/self/ns/pid", space.data(), space.size());
  if (boot.empty() || length <= 0) return {};
  return boot + "/" + std::string(space.data(), static_cast<size_t>(length));
}

}  // namespace

int64_t process_number() { return ::getpid(); }

int64_t own_user() { return ::geteuid(); }

ProcessIdentity this_process() {
  const int64_t pid = process_number();
  return {.boot = boot_and_space(), .pid = pid, .started = life_of(pid).value_or(Life()).started};
}

std::optional<bool> runs_here(const ProcessIdentity& process) {
  if (process.boot.empty() || process.started == 0 || process.pid <= 0 || process.boot != boot_and_space())
    return std::nullopt;
  if (::kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH) return false;
  const auto life = life_of(process.pid);
  if (!life) return true;  // it exists, but this process may not inspect it
  return life->started == process.started && life->state != 'Z' && life->state != 'X';
}

}  // namespace sheaf
