#include "storage/retries.hpp"

#include <cerrno>

#include "base/error.hpp"
#include "storage/store.hpp"

namespace sheaf {

namespace {

bool may_pass(const Error& e, Access access) {
  const int why = e.errno_value();
  // With Access::create, a missing name means that the directory is missing, which no task is about to
  // create.
  return why == ESTALE || (access == Access::create ? why == EEXIST : e.code() == Code::not_found);
}

bool is_gone(const Error& e) { return e.errno_value() == ESTALE || e.code() == Code::not_found; }

// Returns `file` if it exists on its server. Otherwise returns null or, if `last`, returns `file` or throws
// the error of the query.
std::shared_ptr<File> revalidated(std::shared_ptr<File> file, bool last) {
  try {
    const int64_t links = file->revalidate_opened();
    return last || links > 0 ? file : nullptr;
  } catch (const Error& e) {
    if (last || !is_gone(e)) throw;
    return nullptr;
  }
}

bool exists_on_server(Store& store, const std::string& path) {
  try {
    return revalidated(store.open(path, Access::read), false) != nullptr;
  } catch (const Error& e) {
    return !is_gone(e);
  }
}

}  // namespace

std::shared_ptr<File> open_with_retries(Store& store, const std::string& path, Access access,
                                        std::chrono::milliseconds timeout) {
  return with_retries(timeout, [&](bool last) -> std::shared_ptr<File> {
    try {
      return store.open(path, access);
    } catch (const Error& e) {
      if (last || !may_pass(e, access)) throw;
      return nullptr;
    }
  });
}

std::shared_ptr<File> open_revalidated(Store& store, const std::string& path, Access access,
                                       NameExpectation name, std::chrono::milliseconds timeout) {
  return with_retries(timeout, [&](bool last) -> std::shared_ptr<File> {
    std::shared_ptr<File> file;
    try {
      file = store.open(path, access);
    } catch (const Error& e) {
      const bool taken = access == Access::fresh && e.errno_value() == EEXIST;
      const bool passes = e.errno_value() == ESTALE ||
                          (name == NameExpectation::existing && may_pass(e, access)) ||
                          (access == Access::create && e.errno_value() == EEXIST);
      if (last || (taken ? exists_on_server(store, path) : !passes)) throw;
      return nullptr;
    }
    return revalidated(std::move(file), last);
  });
}

}  // namespace sheaf
