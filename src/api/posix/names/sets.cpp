#include "api/posix/names/sets.hpp"

#include <cstdio>
#include <map>
#include <string>

#include "api/posix/fork_mutex.hpp"
#include "api/posix/names/view_set.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"

namespace sheaf::posix {

namespace {

// Never destroyed: streams of the C library are written out after all destructors.
struct Sets {
  std::map<std::string, std::shared_ptr<ContainerSet>, std::less<>> by_path;
};

constinit ForkMutex opening;
constinit Sets* all = nullptr;

std::shared_ptr<ContainerSet> open_set(const std::string& path, bool view) {
  try {
    if (view) return open_view(posix_store(), path);
    return ContainerSet::open(posix_store(), path);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sheaf: '%s' cannot be used (%s): its files are made as plain files\n",
                 printable(path).c_str(), printable(error.what()).c_str());
    return nullptr;
  }
}

}  // namespace

std::shared_ptr<ContainerSet> set_at(std::string_view path, bool view) noexcept {
  opening.lock();
  std::shared_ptr<ContainerSet> found;
  try {
    if (!all) all = new Sets;
    auto at = all->by_path.find(path);
    if (at == all->by_path.end()) {
      const std::string name(path);
      at = all->by_path.emplace(name, open_set(name, view)).first;
    }
    found = at->second;
  } catch (const std::exception&) {  // no memory
  }
  opening.unlock();
  return found;
}

}  // namespace sheaf::posix
