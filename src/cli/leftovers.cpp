// cli/leftovers: `sheaf leftovers`, what programs that write with the word `atomic` have left behind.
#include "recovery/leftovers.hpp"
#include "base/printable.hpp"

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "storage/posix/directory.hpp"

namespace sheaf::cli {

int leftovers(const LeftoversOptions& options) {
  const auto found = find_leftovers(posix_store(), options.directory, list_directory(options.directory));
  Json all = Json::array();
  for (const Leftover& l : found) {
    std::string done;
    const bool written = !l.writer.empty();
    if (options.remove && !written) {
      remove_leftover(posix_store(), l);
      done = "removed";
    } else if (options.finish && !written && l.state == LeftoverState::complete) {
      finish_leftover(posix_store(), l);
      done = "finished";
    }
    if (options.json)
      all.push_back({{"temporary", l.temporary},
                     {"path", l.path},
                     {"state", name_of(l.state)},
                     {"physical_files", l.nfiles},
                     {"files", l.files},
                     {"writer", l.writer},
                     {"done", done}});
    else
      fmt::print("{}: {}{}{}{}\n", printable(l.temporary), name_of(l.state),
                 written ? ", " + printable(l.writer) + " is writing it" : "", done.empty() ? "" : ", ",
                 done);
  }
  if (options.json)
    fmt::print("{}\n", text_of(all, 1));
  else
    fmt::print("{} leftover{} in {}\n", found.size(), found.size() == 1 ? "" : "s",
               printable(options.directory));
  return 0;
}

}  // namespace sheaf::cli
