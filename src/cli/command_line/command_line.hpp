// cli/command_line/command_line: declares commands and their options. Only the files of this folder include
// the parser library CLI11, because compiling CLI11 takes longer than compiling all commands.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sheaf::cli {

// Thrown by a command that detects an error in the command line after parsing.
class UsageError : public std::runtime_error {
 public:
  // `option`: name of the wrong option; empty if several options cause the error.
  UsageError(const std::string& option, const std::string& what)
      : std::runtime_error(option.empty() ? what : option + ": " + what) {}
};

// An option or argument of a command. Copies refer to the same option. Every member function returns this
// option, so that calls can be chained.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required();
  Option between(int least, int most);
  Option not_negative();
  Option positive();
  // Calls `check` with the text of each value. `check` must return an error text, or "" for a valid value.
  Option checked(std::function<std::string(const std::string&)> check);
  Option excludes(const Option& other);
  Option excludes(const std::string& name);
  Option needs(const Option& other);
  Option with_default_in_help();
  Option separated_by(char delimiter);
  Option one_value_each();  // more values need more occurrences of the option
  Option from_environment(const std::string& variable);

 private:
  CLI::Option* option_;
};

// A command, or the program itself. Copies refer to the same command. Variables passed to option() and flag()
// must outlive the command line.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  Command command(const std::string& name, const std::string& what);
  void require_command();
  void footer(const std::string& text);  // default: the footer of the parent command
  void on_use(std::function<void()> act);

  // Add an option, which stores its value in the variable or passes it to the function. `names`:
  // "-o,--option", or NAME for an argument. `what`: the line of the help text.
  // Value: std::string, int, std::optional<int64_t>, std::vector<std::string> or std::vector<int64_t>.
  template <class Value>
  Option option(const std::string& names, Value& value, const std::string& what);
  Option option(const std::string& names, std::function<void(int32_t)> set, const std::string& what);
  Option flag(const std::string& names, bool& value, const std::string& what);
  Option version_flag(const std::string& names, std::function<std::string()> text);

  // Makes the parser take the first argument and all words after it as arguments, even if they look like
  // options.
  void end_options_at_first_argument();

 private:
  CLI::App* app_;
};

// Creates the CLI11 parser of the program `name`. For programs that include CLI11 themselves.
std::shared_ptr<CLI::App> new_app(const std::string& what, const std::string& name);

// The command line of the program `name`.
class CommandLine {
 public:
  CommandLine(const std::string& what, const std::string& name) : app_(new_app(what, name)), top_(*app_) {}

  Command& top() { return top_; }
  bool has_command(const std::string& name) const;

  // Parses the arguments, stores the values of options, and calls the functions passed to on_use(). Returns
  // the exit code if the program must end: after --help or --version, or after an error that it has reported
  // on stderr. Otherwise returns nullopt.
  std::optional<int> parse(int argc, char** argv);

 private:
  std::shared_ptr<CLI::App> app_;
  Command top_;
};

// A command and its options, which live as long as the command line.
template <class Options>
struct CommandWith {
  Command sub;
  std::shared_ptr<Options> o;
};

// Adds a command that calls `run` and stores its result in `status`.
template <class Options>
CommandWith<Options> add(Command& above, int& status, int (*run)(const Options&), const char* name,
                         const char* what, const std::string& footer = {}) {
  CommandWith<Options> made{above.command(name, what), std::make_shared<Options>()};
  if (!footer.empty()) made.sub.footer(footer);
  made.sub.on_use([o = made.o, run, &status] { status = run(*o); });
  return made;
}

struct CommandFlag {
  const char* names;
  bool& value;
  const char* what;
};

inline void add_flags(Command& command, std::initializer_list<CommandFlag> flags) {
  for (const CommandFlag& flag : flags) command.flag(flag.names, flag.value, flag.what);
}

}  // namespace sheaf::cli
