// sheaf-mount WORDS DIR FILE...: the program that `sheaf mount` runs after parsing its command line. WORDS
// are comma-separated options (foreground, ignore-checksums, allow-other, write), or "-". Paths are absolute.
#include <fcntl.h>
#include <unistd.h>

#include "base/non_copyable.hpp"
#include "base/printable.hpp"
#include "cli/mount/file_system.hpp"
#include "cli/mount/opening.hpp"
#include "cli/mount/session_signals.hpp"
#include "cli/mount/stream_prefetcher.hpp"
#include "cli/terminal.hpp"
#include "storage/filesystem/mounts.hpp"

namespace sheaf::cli {

namespace {

// Arguments for libfuse, in its own format.
class Arguments : private NonCopyable {
 public:
  Arguments() { fuse_opt_add_arg(&arguments_, "sheaf-mount"); }
  ~Arguments() { fuse_opt_free_args(&arguments_); }
  void add(const std::string& option) {
    fuse_opt_add_arg(&arguments_, "-o");
    fuse_opt_add_arg(&arguments_, option.c_str());
  }
  fuse_args* get() { return &arguments_; }

 private:
  fuse_args arguments_ = FUSE_ARGS_INIT(0, nullptr);
};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) (c == ',' || c == '\\' ? result += '\\' : result) += c;
  return result;
}

int serve(MountedFileSystem& system, const MountWords& words, const std::string& directory,
          const std::string& source) {
  Arguments arguments;
  arguments.add("subtype=sheaf,default_permissions,fsname=" + escaped(source));
  if (!words.write) arguments.add("ro");
  if (words.allow_other) arguments.add("allow_other");
  const auto failed = [&](const char* what) {
    return Error(Code::io,
                 std::string("cannot ") + what + " '" + directory + "'; libfuse has said why above");
  };
  const fuse_lowlevel_ops answers = operations(words.write);
  const std::unique_ptr<fuse_session, void (*)(fuse_session*)> session(
      fuse_session_new(arguments.get(), &answers, sizeof answers, &system), fuse_session_destroy);
  if (!session) throw failed("prepare a mount on");
  StreamPrefetcher prefetcher(system.tree, *session);
  if (!system.live && !system.front && system.tree.knows_sizes()) system.prefetcher = &prefetcher;
  if (fuse_session_mount(session.get(), directory.c_str()) != 0) throw failed("mount on");
  if (const auto mounted = mounted_on(directory)) read_ahead_far(mounted->device);
  const SessionSignals signals(*session, prefetcher);
  try {
    if (system.front) system.front->divide(session.get(), words.foreground);
  } catch (...) {
    fuse_session_unmount(session.get());
    throw;
  }
  int status = fuse_daemonize(words.foreground || system.front);
  if (status == 0) {
    const std::unique_ptr<fuse_loop_config, void (*)(fuse_loop_config*)> loop(fuse_loop_cfg_create(),
                                                                              fuse_loop_cfg_destroy);
    fuse_loop_cfg_set_clone_fd(loop.get(), 1);
    status = fuse_session_loop_mt(session.get(), loop.get());
  }
  system.front ? system.front->unmount() : fuse_session_unmount(session.get());
  return status < 0 ? 1 : 0;
}

}  // namespace

}  // namespace sheaf::cli

int main(int argc, char** argv) {
  using namespace sheaf;
  if (argc < 4) {
    std::fprintf(stderr, "sheaf-mount: use `sheaf mount FILE... DIR`, which starts this program\n");
    return 2;
  }
  // Open /dev/null on the standard descriptors that are closed, so that no file opened later gets one of
  // their numbers.
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  close(fd);
  try {
    cli::raise_descriptor_limit();
    const cli::MountWords words = cli::mount_words(argv[1]);
    const std::vector<std::string> paths(argv + 3, argv + argc);
    cli::MountedFileSystem system = cli::open_multifiles(paths, words);
    if (cli::Front::pays(system)) system.front = std::make_unique<cli::Front>(argv[2]);
    return cli::serve(system, words, argv[2], paths.front());
  } catch (const Error& error) {
    std::fprintf(stderr, "sheaf: %s\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sheaf: %s\n", printable(error.what()).c_str());
  }
  return 1;
}
