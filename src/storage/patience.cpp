#include "storage/patience.hpp"

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
std::shared_ptr<File> at_server(std::shared_ptr<File> file, bool last) {
  try {
    DirectIo* const past = file->traits().past_cache;
    if (!past) file->renew();
    const int64_t links = past ? past->renew_opened() : file->status().links;
    return last || links > 0 ? file : nullptr;
  } catch (const Error& e) {
    if (last || !is_gone(e)) throw;
    return nullptr;
  }
}

bool is_at_server(Store& store, const std::string& path) {
  try {
    return at_server(store.open(path, Access::read), false) != nullptr;
  } catch (const Error& e) {
    return !is_gone(e);
  }
}

}  // namespace

std::shared_ptr<File> open_patiently(Store& store, const std::string& path, Access access,
                                     std::chrono::milliseconds patience) {
  return patiently(patience, [&](bool last) -> std::shared_ptr<File> {
    try {
      return store.open(path, access);
    } catch (const Error& e) {
      if (last || !may_pass(e, access)) throw;
      return nullptr;
    }
  });
}

std::shared_ptr<File> open_at_server(Store& store, const std::string& path, Access access, Name name,
                                     std::chrono::milliseconds patience) {
  return patiently(patience, [&](bool last) -> std::shared_ptr<File> {
    std::shared_ptr<File> file;
    try {
      file = store.open(path, access);
    } catch (const Error& e) {
      const bool taken = access == Access::fresh && e.errno_value() == EEXIST;
      const bool passes = e.errno_value() == ESTALE || (name == Name::is_there && may_pass(e, access)) ||
                          (access == Access::create && e.errno_value() == EEXIST);
      if (last || (taken ? is_at_server(store, path) : !passes)) throw;
      return nullptr;
    }
    return at_server(std::move(file), last);
  });
}

}  // namespace sheaf
