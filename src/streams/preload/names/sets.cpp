#include "streams/preload/names/sets.hpp"

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "storage/store.hpp"
#include "streams/preload/descriptors.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/fork_mutex.hpp"
#include "streams/preload/names/rules.hpp"
#include "streams/preload/names/view_set.hpp"
#include "streams/preload/stdio/telling.hpp"

namespace sheaf::preload {

using streams::ContainerSet;

namespace {

using SetsByPath = std::map<std::string, std::shared_ptr<ContainerSet>, std::less<>>;

constinit ForkMutex sets_mutex{Guards::sets};
// The open sets of this process. Never destroyed, because the C library flushes streams after all destructors
// have run.
constinit SetsByPath* all = nullptr;

// Returns the paths of the multifiles and sets that the views of `directory` show.
std::vector<std::string> shown_in(std::string_view directory) {
  std::vector<std::string> paths;
  for (const Rule& rule : rules())
    if (rule.view && rule.pattern == directory) paths.emplace_back(rule.set);
  return paths;
}

// Opens a set. On failure, returns null and stores a message in `why`; the caller prints it after releasing
// its lock.
std::shared_ptr<ContainerSet> open_set(const std::string& path, bool view, std::string& why) {
  try {
    if (view) return open_view(posix_store(), path, shown_in(path));
    return ContainerSet::open(posix_store(), path);
  } catch (const std::exception& error) {
    why = error.what();
    return nullptr;
  }
}

}  // namespace

std::shared_ptr<ContainerSet> set_at(std::string_view path, bool view) noexcept {
  std::shared_ptr<ContainerSet> found;
  std::string why;
  errno_of([&] {  // if memory is exhausted, the result is null
    const std::lock_guard guard(sets_mutex);
    if (!all) all = new SetsByPath;
    auto at = all->find(path);
    // A child of vfork(2) must not open files in the tables of its parent.
    if (at == all->end() && !borrows_memory()) {
      const std::string name(path);
      at = all->emplace(name, open_set(name, view, why)).first;
    }
    if (at != all->end()) found = at->second;
  });
  if (!why.empty())
    errno_of([&] {
      tell("sheaf: '%s' cannot be used (%s)%s\n", printable(path).c_str(), printable(why).c_str(),
           view ? "" : ": its files are made as plain files");
    });
  return found;
}

}  // namespace sheaf::preload
