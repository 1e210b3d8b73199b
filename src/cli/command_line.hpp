// cli/command_line: how commands and their options are told to CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

namespace sheaf::cli {

// A command and its options, which live as long as `app` does.
template <class Options>
struct Command {
  CLI::App* sub;
  std::shared_ptr<Options> o;
};

// Adds one, which `run` carries out.
template <class Options>
Command<Options> add(CLI::App& app, int& status, int (*run)(const Options&), const char* name,
                     const char* what, std::string footer = {}) {
  Command<Options> made{app.add_subcommand(name, what), std::make_shared<Options>()};
  if (!footer.empty()) made.sub->footer(std::move(footer));  // else that of the command above
  made.sub->callback([o = made.o, run, &status] { status = run(*o); });
  return made;
}

struct Flag {
  const char* names;
  bool& value;
  const char* what;
};

inline void add_flags(CLI::App& sub, std::initializer_list<Flag> flags) {
  for (const Flag& flag : flags) sub.add_flag(flag.names, flag.value, flag.what);
}

}  // namespace sheaf::cli
