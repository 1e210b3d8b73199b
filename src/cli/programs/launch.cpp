#include "cli/programs/launch.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/non_copyable.hpp"

namespace sheaf::cli {

namespace fs = std::filesystem;

namespace {

std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) c == '\'' ? result += "'\\''" : result += c;
  return result + "'";
}

// Returns whether `launcher` is one of Open MPI. Such launchers forward only the variables named on their
// command line to other hosts.
bool is_open_mpi(const std::string& launcher) {
  const std::string name = fs::path(launcher).filename().string();
  if (!name.starts_with("mpirun") && !name.starts_with("mpiexec") && name != "orterun" && name != "prterun")
    return false;
  std::FILE* const said = popen((quoted(launcher) + " --version 2>/dev/null </dev/null").c_str(), "re");
  if (!said) return false;
  char text[200] = "";
  const size_t n = std::fread(text, 1, sizeof text - 1, said);
  while (std::fgetc(said) != EOF) continue;
  pclose(said);
  const std::string_view version(text, n);
  return version.find("Open MPI") != version.npos || version.find("OpenRTE") != version.npos ||
         version.find("PRRTE") != version.npos;
}

volatile pid_t program = 0;  // number of the process that receives forwarded signals

void pass_on(int signal) {
  const int before = errno;
  if (program > 0) kill(program, signal);
  errno = before;
}

// During its lifetime, forwards SIGTERM and SIGHUP to the program instead of ending this process. Ignores
// signals from the terminal, which reach the program directly. The object must be created before the fork.
// After the fork, the parent must call tell(), and the child undo().
class PassedSignals : private NonCopyable {
 public:
  PassedSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGTERM, SIGHUP}) sigaddset(&held, signal);
    sigprocmask(SIG_BLOCK, &held, &mask_);
    for (SavedSignalAction& kept : kept_) {
      struct sigaction action {};
      action.sa_handler = kept.signal == SIGINT || kept.signal == SIGQUIT ? SIG_IGN : pass_on;
      sigaction(kept.signal, nullptr, &kept.before);
      // Ignored signals stay ignored in the program, as `nohup` requires.
      if (kept.before.sa_handler != SIG_IGN) sigaction(kept.signal, &action, nullptr);
    }
  }
  ~PassedSignals() { undo(); }

  void tell(pid_t child) {
    program = child;
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  void undo() {
    for (const SavedSignalAction& kept : kept_) sigaction(kept.signal, &kept.before, nullptr);
    program = 0;
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  struct SavedSignalAction {
    int signal;
    struct sigaction before;
  };
  SavedSignalAction kept_[4] = {{SIGTERM, {}}, {SIGHUP, {}}, {SIGINT, {}}, {SIGQUIT, {}}};
  sigset_t mask_;
};

// Returns the directory of the core library that this program has loaded; empty if the library is linked into
// the program. If the program was copied out of its tree, the other libraries are in this directory.
fs::path library_directory() {
  Dl_info facts{};
  const void* const symbol = dlsym(RTLD_DEFAULT, "sheaf_last_error");
  if (!symbol || dladdr(symbol, &facts) == 0) return {};
  return fs::path(facts.dli_fname).parent_path();
}

}  // namespace

std::string own_library(const std::string& name, const std::string& reason) {
  const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
  fs::path library;
  for (const char* const directory : {"../lib", SHEAF_BIN_TO_LIB}) {  // in a build tree, in an installation
    library = (own / directory / name).lexically_normal();
    if (fs::exists(library)) return library.string();
  }
  if (const fs::path beside = library_directory() / name; beside != name && fs::exists(beside))
    return beside.string();
  throw Error(Code::not_found, "'" + library.string() + "' is not there: " + reason);
}

void preload(const std::string& library) {
  if (library.find_first_of(" \t\n:") != library.npos)
    throw Error(
        Code::invalid_argument,
        "'" + library +
            "' cannot be preloaded, since a blank or a colon ends a name in LD_PRELOAD: move Sheaf to a "
            "directory without them");
  const char* const others = std::getenv("LD_PRELOAD");
  setenv("LD_PRELOAD", (library + (others && *others ? ":" + std::string(others) : "")).c_str(), 1);
}

std::vector<std::string> with_variables(std::vector<std::string> command,
                                        const std::vector<const char*>& variables) {
  if (!is_open_mpi(command.front())) return command;
  std::vector<std::string> added;
  for (const char* const variable : variables) added.insert(added.end(), {"-x", variable});
  command.insert(command.begin() + 1, added.begin(), added.end());
  return command;
}

void become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  throw os_error("cannot run", command.front(), errno);
}

void become_or_end(const std::vector<std::string>& command) {
  try {
    become(command);
  } catch (const Error& error) {
    std::fprintf(stderr, "sheaf: %s\n", error.what());
    _exit(127);
  }
}

int run_command(const std::vector<std::string>& command) {
  std::optional<PassedSignals> passed(std::in_place);
  const pid_t child = fork();
  if (child < 0) throw os_error("cannot run", command.front(), errno);
  if (child == 0) {
    passed->undo();
    become_or_end(command);
  }
  passed->tell(child);
  siginfo_t end;
  while (waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT) < 0 && errno == EINTR) continue;
  passed.reset();  // stop forwarding while the process number still belongs to the program
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace sheaf::cli
