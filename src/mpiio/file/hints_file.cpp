#include "mpiio/file/hints_file.hpp"

#include <functional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/setting.hpp"
#include "comm/agree.hpp"
#include "storage/store.hpp"

namespace sheaf::mpiio {

namespace {

// Maximum size of the file. No file of hints is that long, so a longer file is rejected with a warning.
constexpr int64_t max_bytes = 1 << 20;

std::string read_text(Store& store, const std::string& path) {
  const auto file = store.open(path, Access::read);
  const int64_t size = file->status().size;
  if (size > max_bytes)
    throw file_error(Code::invalid_argument, path, std::to_string(size) + " bytes are too many for hints");
  std::string text(static_cast<size_t>(size), '\0');
  text.resize(file->read_at(std::as_writable_bytes(std::span(text)), 0));
  return text;
}

// Applies one line. Ignores the line if `taken` contains its key; otherwise adds the key of a valid line to
// `taken`.
void take_line(std::string_view line, const std::string& path, Hints& hints,
               std::set<std::string, std::less<>>& taken) {
  line = trimmed(line.substr(0, line.find('#')));
  const std::string_view key = line.substr(0, line.find_first_of(" \t"));
  const std::string_view value = trimmed(line.substr(key.size()));
  if (value.empty() || taken.contains(key)) return;
  if (hints.set(key, value)) {
    taken.emplace(key);
    return;
  }
  if (const char* const expected = Hints::expected(key))
    tell_not_understood("'" + path + "': " + std::string(key), value, expected);
}

}  // namespace

void take_hints_file(Store& store, Hints& hints) {
  const char* const named = setting(hints_variable);
  const std::string path = named ? named : site_hints;
  std::string text;
  const auto problem = attempt([&] {
    if (named || store.status(path).exists) text = read_text(store, path);
  });
  if (problem)
    tell_not_understood(hints_variable, path, "a text file of hints (" + std::string(problem->what()) + ")");
  std::istringstream lines(text);
  std::set<std::string, std::less<>> taken;
  for (std::string line; std::getline(lines, line);) take_line(line, path, hints, taken);
}

}  // namespace sheaf::mpiio
