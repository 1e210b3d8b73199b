#include <CLI/App.hpp>
#include <algorithm>
#include <cstdio>

#include "base/printable.hpp"
#include "cli/command_line/command_line.hpp"

namespace sheaf::cli {

bool CommandLine::has_command(const std::string& name) const {
  return std::ranges::any_of(app_->get_subcommands({}),
                             [&](const CLI::App* command) { return command->check_name(name); });
}

std::optional<int> CommandLine::parse(int argc, char** argv) {
  std::string mistake;
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app_->exit(error);  // --help and --version
    mistake = error.what();
  } catch (const UsageError& error) {
    mistake = error.what();
  }
  std::fprintf(stderr,
               "sheaf: %s\n  (`sheaf --help` shows the commands, `sheaf COMMAND --help` their options)\n",
               printable(mistake).c_str());
  return 2;
}

}  // namespace sheaf::cli
