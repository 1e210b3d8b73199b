#include <CLI/App.hpp>

#include "cli/command_line/command_line.hpp"

namespace sheaf::cli {

Option Option::required() { return Option(option_->required()); }
Option Option::between(int least, int most) { return Option(option_->check(CLI::Range(least, most))); }
Option Option::not_negative() { return Option(option_->check(CLI::NonNegativeNumber)); }
Option Option::positive() { return Option(option_->check(CLI::PositiveNumber)); }
Option Option::checked(std::function<std::string(const std::string&)> check) {
  return Option(option_->check(std::move(check)));
}
Option Option::excludes(const Option& other) { return Option(option_->excludes(other.option_)); }
Option Option::excludes(const std::string& name) { return Option(option_->excludes<CLI::App>(name)); }
Option Option::needs(const Option& other) { return Option(option_->needs(other.option_)); }
Option Option::with_default_in_help() { return Option(option_->capture_default_str()); }
Option Option::separated_by(char delimiter) { return Option(option_->delimiter(delimiter)); }
Option Option::one_value_each() { return Option(option_->allow_extra_args(false)); }
Option Option::from_environment(const std::string& variable) { return Option(option_->envname(variable)); }

template <class Value>
Option Command::option(const std::string& names, Value& value, const std::string& what) {
  return Option(app_->add_option(names, value, what));
}
template Option Command::option(const std::string&, std::string&, const std::string&);
template Option Command::option(const std::string&, int&, const std::string&);
template Option Command::option(const std::string&, std::optional<int64_t>&, const std::string&);
template Option Command::option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::option(const std::string&, std::vector<int64_t>&, const std::string&);
Option Command::option(const std::string& names, std::function<void(int32_t)> set, const std::string& what) {
  return Option(app_->add_option_function<int32_t>(
      names, [set = std::move(set)](const int32_t& value) { set(value); }, what));
}

void Command::require_command() { app_->require_subcommand(1); }
void Command::footer(const std::string& text) { app_->footer(text); }
void Command::on_use(std::function<void()> act) { app_->callback(std::move(act)); }
void Command::end_options_at_first_argument() { app_->positionals_at_end(); }

Option Command::flag(const std::string& names, bool& value, const std::string& what) {
  return Option(app_->add_flag(names, value, what));
}
Option Command::version_flag(const std::string& names, std::function<std::string()> text) {
  return Option(app_->set_version_flag(names, std::move(text)));
}

}  // namespace sheaf::cli
