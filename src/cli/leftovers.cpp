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
    const Leftover& l = found[i];
    std::string done;
    const bool written = !l.writer.empty();
    if (options.remove && l.committed) {
      done =
          "not removed: it is the generation under '" + printable(l.path) + "'; --finish gives it its name";
    } else if (options.remove && !written) {
      multifile::remove_leftover(posix_store(), l);
      done = "removed";
    } else if (!obstacles[i].empty()) {
      done = "not finished: " + printable(obstacles[i]);
    } else if (options.finish && could_be_finished(l)) {
      multifile::finish_leftover(posix_store(), l);
      done = "finished";
    }
    if (options.json)
      all.push_back({{"temporary", l.temporary},
                     {"path", l.path},
                     {"state", multifile::name_of(l.state)},
                     {"physical_files", l.nfiles},
                     {"files", l.files},
                     {"committed", l.committed},
                     {"writer", l.writer},
                     {"done", obstacles[i].empty() ? done : ""},
                     {"obstacle", obstacles[i]}});
    else
      fmt::print("{}: {}{}{}{}{}\n", printable(l.temporary), multifile::name_of(l.state),
                 l.committed ? ", committed" : "",
                 written ? ", " + printable(l.writer) + " is writing it" : "", done.empty() ? "" : ", ",
                 done);
  }
  if (options.json)
    fmt::print("{}\n", text_of(all, 1));
  else
    fmt::print("{} leftover{} in {}\n", found.size(), found.size() == 1 ? "" : "s",
               printable(options.directory));
  return hindered ? 1 : 0;
}

}  // namespace sheaf::cli
