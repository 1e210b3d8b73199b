// cli/demo/main: a program with only `sheaf dump FILE`. `make demo` builds it, to compile no more than the
// demo needs.
#include <cstdio>
#include <exception>
#include <string_view>

#include "base/printable.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"

int main(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "dump") {
    std::fprintf(stderr, "usage: sheaf dump FILE\n  (`make build` builds all commands)\n");
    return 2;
  }
  try {
    sheaf::cli::DumpOptions options;
    options.path = argv[2];
    const int status = sheaf::cli::dump(options);
    sheaf::cli::finish_stdout();
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sheaf: %s\n", sheaf::printable(error.what()).c_str());
  }
  return 1;
}
