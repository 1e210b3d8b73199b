#include "cli/mpiio.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "cli/json.hpp"

namespace sheaf::cli {

namespace {

namespace fs = std::filesystem;

// libsheaf_mpiio.so of the installation or build that this program is of.
std::string drop_in() {
  const fs::path own = fs::read_symlink("/proc/self/exe");
  fs::path library;
  for (const char* const directory : {"../lib", SHEAF_BIN_TO_LIB}) {  // of a build, of an installation
    library = (own.parent_path() / directory / "libsheaf_mpiio.so").lexically_normal();
    if (fs::exists(library)) break;
  }
  if (!fs::exists(library))
    throw Error(Code::not_found,
                "'" + library.string() + "' is not there: Sheaf was built or installed without an MPI");
  return library.string();
}

std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) c == '\'' ? result += "'\\''" : result += c;
  return result + "'";
}

// Open MPI's launchers hand on to other hosts only those variables that they are told of.
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

std::vector<std::string> with_variables(std::vector<std::string> command,
                                        const std::vector<const char*>& variables) {
  if (!is_open_mpi(command.front())) return command;
  std::vector<std::string> added;
  for (const char* const variable : variables) added.insert(added.end(), {"-x", variable});
  command.insert(command.begin() + 1, added.begin(), added.end());
  return command;
}

[[noreturn]] void become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  throw os_error("cannot run", command.front(), errno);
}

// Signals of the terminal are for the command.
int run(const std::vector<std::string>& command) {
  const pid_t child = fork();
  if (child < 0) throw os_error("cannot run", command.front(), errno);
  if (child == 0) {
    try {
      become(command);
    } catch (const Error& error) {
      std::fprintf(stderr, "sheaf: %s\n", error.what());
      _exit(127);
    }
  }
  const auto interrupt = std::signal(SIGINT, SIG_IGN);
  const auto quit = std::signal(SIGQUIT, SIG_IGN);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  std::signal(SIGINT, interrupt);
  std::signal(SIGQUIT, quit);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The file of a run's report, gone with this object.
class ReportFile {
 public:
  ReportFile() : path_((fs::current_path() / (".sheaf-mpiio." + std::to_string(getpid()))).string()) {
    std::ofstream made(path_, std::ios::trunc);
    if (!made) throw os_error("cannot write the report in", path_, errno);
  }
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;
  ~ReportFile() { std::remove(path_.c_str()); }

  const std::string& path() const { return path_; }

  // {"libraries": [...], "files": [...]}: a line of the file each.
  Json read() const {
    Json all{{"libraries", Json::array()}, {"files", Json::array()}};
    std::ifstream lines(path_);
    for (std::string line; std::getline(lines, line);) {
      const Json one = Json::parse(line, nullptr, false);
      if (one.is_object()) all[one.contains("engine") ? "libraries" : "files"].push_back(one);
    }
    return all;
  }

 private:
  std::string path_;
};

int64_t number(const Json& file, const char* name) { return file.value(name, int64_t{0}); }

void print(const Json& report) {
  for (const Json& library : report["libraries"]) {
    const std::string engine = library.value("engine", "");
    fmt::print(stderr, "sheaf mpiio: {} ({}): {}\n", printable(library.value("mpi", "")),
               printable(library.value("library", "")),
               engine.empty() ? "its own MPI-IO, there is no engine for it" : printable(engine));
  }
  if (report["files"].empty()) {
    fmt::print(stderr,
               "sheaf mpiio: no file was closed through the drop-in; does the program use MPI-IO, with a "
               "shared MPI library?\n");
    return;
  }
  fmt::print(stderr, "{:>6} {:>16} {:>16} {:>8} {:>8} {:>9} {:>9}  {}\n", "tasks", "bytes written",
             "bytes read", "calls", "requests", "exchanged", "aggregat.", "file");
  for (const Json& file : report["files"]) {
    const int64_t calls = number(file, "independent_writes") + number(file, "independent_reads") +
                          number(file, "collective_writes") + number(file, "collective_reads");
    fmt::print(stderr, "{:>6} {:>16} {:>16} {:>8} {:>8} {:>9} {:>9}  {}\n", number(file, "tasks"),
               number(file, "bytes_written"), number(file, "bytes_read"), calls, number(file, "requests"),
               number(file, "exchanged_bytes"), number(file, "aggregators"),
               printable(file.value("path", "")));
  }
}

}  // namespace

int mpiio(const MpiIoOptions& options) {
  const char* const others = std::getenv("LD_PRELOAD");
  const std::string preload = drop_in() + (others && *others ? ":" + std::string(others) : "");
  if (!options.report && !options.json) {
    const auto command = with_variables(options.command, {"LD_PRELOAD"});
    setenv("LD_PRELOAD", preload.c_str(), 1);
    become(command);
  }
  const ReportFile file;
  const auto command = with_variables(options.command, {"LD_PRELOAD", "SHEAF_STATS", "SHEAF_MPIIO_REPORT"});
  setenv("SHEAF_STATS", ("json:" + file.path()).c_str(), 1);
  setenv("SHEAF_MPIIO_REPORT", file.path().c_str(), 1);
  setenv("LD_PRELOAD", preload.c_str(), 1);
  const int status = run(command);
  const Json report = file.read();
  if (options.json) {
    fmt::print("{}\n", text_of(report, 2));
  } else {
    print(report);
  }
  return status;
}

}  // namespace sheaf::cli
