#include "cli/programs/mpiio.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/non_copyable.hpp"
#include "base/printable.hpp"
#include "cli/json/json.hpp"
#include "cli/programs/launch.hpp"

namespace sheaf::cli {

namespace {

namespace fs = std::filesystem;

// The temporary file for the report of a run. The destructor removes the file.
class ReportFile : private NonCopyable {
 public:
  ReportFile() : path_((fs::current_path() / (".sheaf-mpiio." + std::to_string(getpid()))).string()) {
    std::ofstream made(path_, std::ios::trunc);
    if (!made) throw os_error("cannot write the report in", path_, errno);
  }
  ~ReportFile() { std::remove(path_.c_str()); }

  const std::string& path() const { return path_; }

  // Returns {"libraries": [...], "files": [...]}; each line of the file becomes one element.
  Json read() const {
    Json all{{"libraries", Json::array()}, {"files", Json::array()}};
    std::ifstream lines(path_);
    for (std::string line; std::getline(lines, line);) {
      const Json one = Json::parse(line);
      if (one.is_object()) all[one.contains("engine") ? "libraries" : "files"].push_back(one);
    }
    return all;
  }

 private:
  std::string path_;
};

// Return the value of a member; 0 or "" if it is missing.
int64_t number(const Json& file, const char* name) {
  const Json* const found = file.find(name);
  return found ? found->number() : 0;
}
std::string text(const Json& library, const char* name) {
  const Json* const found = library.find(name);
  return found ? found->text() : "";
}

void print(const Json& report) {
  for (const Json& library : report["libraries"]) {
    const std::string engine = text(library, "engine");
    fmt::print(stderr, "sheaf mpiio: {} ({}): {}\n", printable(text(library, "mpi")),
               printable(text(library, "library")),
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
               number(file, "exchanged_bytes"), number(file, "aggregators"), printable(text(file, "path")));
  }
}

}  // namespace

int mpiio(const MpiIoOptions& options) {
  const std::string library = own_library("libsheaf_mpiio.so", "Sheaf was built or installed without an MPI");
  if (!options.report && !options.json) {
    const auto command = with_variables(options.command, {"LD_PRELOAD"});
    preload(library);
    become_or_end(command);
  }
  const ReportFile file;
  const auto command =
      with_variables(options.command, {"LD_PRELOAD", "SHEAF_MPIIO_STATS", "SHEAF_MPIIO_REPORT"});
  setenv("SHEAF_MPIIO_STATS", ("json:" + file.path()).c_str(), 1);
  setenv("SHEAF_MPIIO_REPORT", file.path().c_str(), 1);
  preload(library);
  const int status = run_command(command);
  const Json report = file.read();
  if (options.json) {
    fmt::print("{}\n", text_of(report, 2));
  } else {
    print(report);
  }
  return status;
}

}  // namespace sheaf::cli
