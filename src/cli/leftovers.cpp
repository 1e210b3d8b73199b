// cli/leftovers: implements `sheaf leftovers`, which lists files that killed programs with the open mode word
// `atomic` have left. On request, removes or finishes them.
#include "multifile/recover/leftovers.hpp"
#include "base/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/commands.hpp"
#include "cli/json/json.hpp"
#include "storage/store.hpp"

namespace sheaf::cli {

using multifile::Leftover;

namespace {

namespace fs = std::filesystem;

// Returns the time of the last write, or the earliest possible time if the file is inaccessible.
fs::file_time_type time_of(const std::string& path) {
  std::error_code failed;
  const fs::file_time_type time = fs::last_write_time(path, failed);
  return failed ? fs::file_time_type::min() : time;
}

bool could_be_finished(const Leftover& l) {
  return l.writer.empty() && l.state == multifile::LeftoverState::complete;
}

// Returns why a complete leftover must not be finished; empty if it may be.
std::string obstacle(const Leftover& l, const std::vector<Leftover>& found, bool force) {
  if (l.committed) return {};
  const auto age = [](const Leftover& one) { return std::pair(time_of(one.temporary), one.temporary); };
  for (const Leftover& other : found)
    if (other.path == l.path && could_be_finished(other) && age(other) > age(l))
      return "'" + other.temporary + "' is to get the same name, and is newer";
  if (!force && fs::exists(l.path) && time_of(l.path) > time_of(l.temporary))
    return "'" + l.path + "' is newer (--force replaces it)";
  return {};
}

// Removes or finishes a leftover as `options` request, unless there is an obstacle. Returns what was done,
// for the user; empty if nothing.
std::string handle(const Leftover& l, const LeftoversOptions& options, const std::string& obstacle) {
  if (options.remove && l.committed)
    return "not removed: it is the generation under '" + printable(l.path) + "'; --finish gives it its name";
  if (options.remove && l.writer.empty()) {
    multifile::remove_leftover(posix_store(), l);
    return "removed";
  }
  if (!obstacle.empty()) return "not finished: " + printable(obstacle);
  if (!options.finish || !could_be_finished(l)) return {};
  multifile::finish_leftover(posix_store(), l);
  return "finished";
}

Json json_of(const Leftover& l, const std::string& done, const std::string& obstacle) {
  return {{"temporary", l.temporary},
          {"path", l.path},
          {"state", multifile::name_of(l.state)},
          {"physical_files", l.nfiles},
          {"files", l.files},
          {"committed", l.committed},
          {"writer", l.writer},
          {"done", obstacle.empty() ? done : ""},
          {"obstacle", obstacle}};
}

void print(const Leftover& l, const std::string& done) {
  fmt::print("{}: {}{}{}{}{}\n", printable(l.temporary), multifile::name_of(l.state),
             l.committed ? ", committed" : "",
             l.writer.empty() ? "" : ", " + printable(l.writer) + " is writing it", done.empty() ? "" : ", ",
             done);
}

}  // namespace

int leftovers(const LeftoversOptions& options) {
  const auto found =
      multifile::find_leftovers(posix_store(), options.directory, posix_store().names_in(options.directory));
  std::vector<std::string> obstacles(found.size());  // must be computed before the first leftover is renamed
  for (size_t i = 0; options.finish && i < found.size(); ++i)
    if (could_be_finished(found[i])) obstacles[i] = obstacle(found[i], found, options.force);
  const bool hindered =
      std::ranges::any_of(obstacles, [](const std::string& obstacle) { return !obstacle.empty(); });
  Json all = Json::array();
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string done = handle(found[i], options, obstacles[i]);
    if (options.json)
      all.push_back(json_of(found[i], done, obstacles[i]));
    else
      print(found[i], done);
  }
  if (options.json)
    fmt::print("{}\n", text_of(all, 1));
  else
    fmt::print("{} leftover{} in {}\n", found.size(), found.size() == 1 ? "" : "s",
               printable(options.directory));
  return hindered ? 1 : 0;
}

}  // namespace sheaf::cli
