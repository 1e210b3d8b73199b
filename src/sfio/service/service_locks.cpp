// Locks and unlocks extents for clients. The service never waits: a request that conflicts with a held
// lock fails at once, and the client retries.
#include <algorithm>

#include "sfio/service/service.hpp"

namespace sheaf::sfio {

bool Service::lock(const Request& request, bool exclusive) {
  const auto [offset, length] = request.values;
  const Subfile& subfile = files_.at(request.handle);
  const auto is_of_it = [&](const ClientLock& held) {
    const Subfile& other = files_.at(held.handle);
    return other.path == subfile.path && other.removed == subfile.removed;
  };
  const auto in_the_way = [&](const ClientLock& held) {
    return held.offset < offset + length && offset < held.offset + held.length &&
           (held.exclusive || exclusive) && is_of_it(held);
  };
  if (std::ranges::any_of(held_, in_the_way)) return false;
  held_.push_back({request.handle, offset, length, exclusive});
  return true;
}

void Service::unlock(const Request& request) {
  const auto [offset, length] = request.values;
  const auto mine = std::ranges::find_if(held_, [&](const ClientLock& held) {
    return held.handle == request.handle && held.offset == offset && held.length == length;
  });
  if (mine == held_.end())
    throw Error(Code::invalid_argument, "'" + files_.at(request.handle).path + "': this range is not locked");
  held_.erase(mine);
}

}  // namespace sheaf::sfio
