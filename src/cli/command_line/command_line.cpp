#include "cli/command_line/command_line.hpp"

#include <CLI/CLI.hpp>

namespace sheaf::cli {

Command Command::command(const std::string& name, const std::string& what) {
  return Command(*app_->add_subcommand(name, what));
}

std::shared_ptr<CLI::App> new_app(const std::string& what, const std::string& name) {
  return std::make_shared<CLI::App>(what, name);
}

}  // namespace sheaf::cli
