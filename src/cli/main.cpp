// cli/main: the `sheaf` command and the classic tools in one program. The program selects the tool by the
// name under which it was called.
//
// The module cli parses command lines and prints results. The operations on multifiles (split, defrag,
// verify, usage) are in multifile/.
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"

namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Returns advice for the user to be printed after the error message.
const char* advice(sheaf::Code code, const std::string& command) {
  if (command == "stripe" && code == sheaf::Code::damaged)
    return "\n  (`sheaf stripe check` lists everything that is wrong with a striped file)";
  switch (code) {
    case sheaf::Code::damaged:
      return "\n  (`sheaf verify` lists everything that is wrong with a multifile)";
    case sheaf::Code::not_a_multifile:
      return "\n  (give physical file 0 of a multifile: the name without .000001)";
    case sheaf::Code::no_space:
      return "\n  (free some space and run it again)";
    default:
      return "";
  }
}

// Runs the tool `name` and returns its exit code. Reports exceptions on stderr; fmt throws one if standard
// output cannot be written.
int run(const std::string& name, int argc, char** argv) {
  try {
    const auto classic = sheaf::cli::run_classic(name, argc, argv);
    const int status = classic ? *classic : sheaf::cli::run_sheaf(argc, argv);
    sheaf::cli::finish_stdout();
    return status;
  } catch (const std::system_error&) {
    sheaf::cli::check_signals();
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 0 ? base_name(argv[0]) : "sheaf";
  const std::string shown = sheaf::printable(name);
  try {
    return run(name, argc, argv);
  } catch (const sheaf::Error& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s%s\n", shown.c_str(), error.what(),
                 advice(error.code(), argc > 1 ? argv[1] : ""));
  } catch (const sheaf::cli::Interrupted& interrupted) {
    std::fprintf(stderr, "%s: interrupted\n", shown.c_str());
    sheaf::cli::die_of(interrupted.signal);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: out of memory\n", shown.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", shown.c_str(), sheaf::printable(error.what()).c_str());
  }
  return 1;
}
