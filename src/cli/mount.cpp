// cli/mount: implements `sheaf mount` and `sheaf umount`.

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/mount/front_place.hpp"
#include "cli/programs/launch.hpp"
#include "storage/filesystem/mounts.hpp"

namespace sheaf::cli {

namespace {

namespace fs = std::filesystem;

// Returns the path of sheaf-mount in the build or installation tree of this program.
std::string mounting_program() {
  const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
  for (const char* const place : {"sheaf-mount", "../libexec/sheaf/sheaf-mount"})
    if (const fs::path program = (own / place).lexically_normal(); fs::exists(program)) return program;
  throw Error(Code::unsupported, "this installation of Sheaf cannot mount: '" +
                                     (own / "../libexec/sheaf/sheaf-mount").lexically_normal().string() +
                                     "' is not there. Install the package sheaf-mount, or build Sheaf where "
                                     "libfuse 3.12 or newer is (Debian: "
                                     "libfuse3-dev). `sheaf split` writes the same files");
}

// Returns `path` as an absolute path. Does not resolve a symbolic link at the last component, because
// containers are next to the given name, not next to its target.
std::string absolute(const std::string& path) {
  if (path.starts_with("sfio:")) return path;
  const fs::path whole = fs::absolute(path);
  return (fs::weakly_canonical(whole.parent_path()) / whole.filename()).string();
}

std::string resolved(const std::string& directory) {
  std::error_code failed;
  const fs::path real = fs::canonical(directory, failed);
  if (failed) throw os_error("cannot find", directory, failed.value());
  return real.string();
}

// Returns the canonical path of a mount point. Resolves only its parent directory, because the mount point
// itself is inaccessible if its mount program was killed.
std::string mounted_directory(const std::string& directory) {
  if (directory.empty()) throw Error(Code::invalid_argument, "the name of the directory to unmount is empty");
  fs::path path = fs::absolute(directory);
  if (path.filename().empty()) path = path.parent_path();
  if (path.filename() == "." || path.filename() == "..") return resolved(path);
  return (fs::path(resolved(path.parent_path())) / path.filename()).string();
}

// Returns a process descriptor (pidfd) of the mount program, to wait for its end. Returns -1 if the program
// has ended, or is in another process namespace. Checks the program, because the process number that the
// kernel has cached may now belong to another program.
int program_behind(const std::string& directory) {
  char text[32] = "";
  if (getxattr(directory.c_str(), "user.sheaf.process", text, sizeof text - 1) <= 0) return -1;
  const auto program = static_cast<int>(syscall(SYS_pidfd_open, std::atoi(text), 0));
  std::string name;
  std::getline(std::ifstream(std::string("/proc/") + text + "/comm"), name);
  if (name == "sheaf-mount") return program;
  if (program >= 0) close(program);
  return -1;
}

void await_end(int process) {
  pollfd end{process, POLLIN, 0};
  while (poll(&end, 1, -1) < 0 && errno == EINTR) continue;
}

struct Ended {
  int status;        // as returned by waitpid
  std::string said;  // standard error, without the trailing newline
};

Ended run_helper(const char* option, const std::string& directory) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw os_error("cannot make a pipe to", "fusermount3", errno);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    execlp("fusermount3", "fusermount3", option, "--", directory.c_str(), nullptr);
    _exit(127);
  }
  const int failed = errno;
  close(ends[1]);
  Ended ended{};
  char bytes[256];
  while (child > 0) {
    const ssize_t got = read(ends[0], bytes, sizeof bytes);
    if (got == 0 || (got < 0 && errno != EINTR)) break;
    if (got > 0) ended.said.append(bytes, static_cast<size_t>(got));
  }
  close(ends[0]);
  if (child < 0) throw os_error("cannot run", "fusermount3", failed);
  while (waitpid(child, &ended.status, 0) < 0 && errno == EINTR) continue;
  while (ended.said.ends_with('\n')) ended.said.pop_back();
  return ended;
}

// Unmounts with the helper program of libfuse, which may unmount for users without privileges.
void detach_with_helper(const std::string& directory, bool lazy) {
  const auto [status, said] = run_helper(lazy ? "-uz" : "-u", directory);
  if (status == 0) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    throw os_error("cannot unmount without fusermount3 (package fuse3)", directory, EPERM);
  const std::string how = WIFEXITED(status) ? "exit code " + std::to_string(WEXITSTATUS(status))
                                            : "signal " + std::to_string(WTERMSIG(status));
  throw Error(Code::io, "cannot unmount '" + directory + "': fusermount3 has ended with " + how +
                            (said.empty() ? " and said nothing" : ": " + said));
}

void detach(const std::string& directory, bool lazy) {
  if (umount2(directory.c_str(), UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0) return;
  if (errno == EPERM) return detach_with_helper(directory, lazy);
  if (errno == EBUSY)
    throw Error(Code::io, "cannot unmount '" + directory +
                              "': files in it are open, or it is the directory of a process; " +
                              "end what uses it (`fuser -m`), or use --lazy");
  throw os_error("cannot unmount", directory, errno);
}

}  // namespace

int mount(const MountOptions& options) {
  if (options.paths.size() < 2)
    throw Error(Code::invalid_argument,
                "give one multifile or more, and then the directory where they shall be seen");
  const std::string directory = resolved(options.paths.back());
  if (!fs::is_directory(directory))
    throw Error(Code::invalid_argument, "'" + options.paths.back() + "' is not a directory");
  if (options.write && options.paths.size() > 2)
    throw Error(Code::invalid_argument, "streams are written to one multifile: give one with --write");
  const std::pair<bool, const char*> requests[] = {{options.write, ",write"},
                                                   {options.foreground, ",foreground"},
                                                   {options.allow_other, ",allow-other"},
                                                   {options.ignore_checksums, ",ignore-checksums"}};
  std::string words = "-";
  for (const auto& [wished, word] : requests)
    if (wished) words += word;
  std::vector<std::string> command{mounting_program(), words, directory};
  for (size_t i = 0; i + 1 < options.paths.size(); ++i) command.push_back(absolute(options.paths[i]));
  become(command);
}

int umount(const UmountOptions& options) {
  for (const std::string& given : options.directories) {
    const std::string directory = mounted_directory(given);
    const auto mounted = mounted_on(directory);
    if (!mounted || (mounted->type != "fuse.sheaf" && !is_front(*mounted)))
      throw Error(Code::invalid_argument, "nothing that `sheaf mount` has mounted is at '" + given + "'");
    const int process = program_behind(directory);
    detach(directory, options.lazy);
    if (process >= 0 && !options.lazy) await_end(process);
    if (process >= 0) close(process);
  }
  return 0;
}

}  // namespace sheaf::cli
