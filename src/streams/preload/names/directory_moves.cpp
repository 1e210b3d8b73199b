#include "streams/preload/names/directory_moves.hpp"

#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>

#include <memory>
#include <string>
#include <vector>

#include "streams/preload/errors.hpp"
#include "streams/preload/inside.hpp"
#include "streams/preload/names/listing.hpp"
#include "streams/preload/names/moves.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

namespace {

constinit Real<int(int, const char*, int, const char*, unsigned)> next_renameat2{"renameat2"};

// Returns the paths of the captured files below `directory`: the rest of each canonical path after
// `directory`. Throws EXDEV if the directory cannot be renamed together with them.
std::vector<std::string> captured_below(const std::string& directory) {
  std::vector<std::string> found;
  each_captured_below(directory,
                      [&](const Rule& rule, const streams::ContainerSet& set, std::string_view path) {
                        if (rule.view || set.path().starts_with(directory + "/"))
                          throw os_error("cannot move", directory, EXDEV);
                        found.emplace_back(path.substr(directory.size()));
                      });
  return found;
}

// Renames one captured file. If another process has just created a file named `to`, keeps that file and gives
// the captured file a temporary name.
int move_one(const std::string& from, const std::string& to) {
  const auto source = std::make_unique<Place>(), target = std::make_unique<Place>();
  if (!match_canonical(from, *source)) return failed(ENAMETOOLONG);
  const bool captured = match_canonical(to, *target);
  const int moved =
      move_captured(*source, captured ? target.get() : nullptr, AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  return moved != 0 && errno == EEXIST ? move_one(from, temporary_name(to)) : moved;
}

// Renames all files, except those that another process has removed. `moved` counts the files that were
// processed. Returns 0, or -1 with errno.
int move_names(const std::vector<std::string>& names, const std::string& from, const std::string& to,
               size_t& moved) {
  for (moved = 0; moved < names.size(); ++moved)
    if (move_one(from + names[moved], to + names[moved]) != 0 && errno != ENOENT) return -1;
  return 0;
}

}  // namespace

int move_directory(int from_at, const char* from, int to_at, const char* to, unsigned flags) noexcept {
  if (flags & ~unsigned(RENAME_NOREPLACE)) return failed(EINVAL);
  const Inside inside;
  int result = -1;
  const int error = errno_of([&] {
    const std::string old = canonical_name(from_at, from);
    const std::string now = canonical_name(to_at, to);
    if (old.empty() || now.empty()) throw os_error("cannot move", from, errno);
    const std::vector<std::string> names = captured_below(old);
    result = next_renameat2(from_at, from, to_at, to, flags);
    const int moved = errno;
    forget_directories();
    errno = moved;
    if (result != 0 || old == now) return;
    size_t done = 0;
    if (move_names(names, old, now, done) == 0) return;
    const int why = errno;
    // This rename also moves the files back that have become plain.
    real::rename(now.c_str(), old.c_str());
    forget_directories();
    while (done-- > 0) move_one(now + names[done], old + names[done]);
    throw os_error("cannot move", old, why);
  });
  return error == 0 ? result : failed(error);
}

}  // namespace sheaf::preload
