// container/host_stream: what is said of a stream.
#include <cerrno>

#include "base/error.hpp"
#include "container/host_stream.hpp"

namespace sheaf {

uint64_t number_of(const format::StreamKey& key) {
  const uint64_t origin = (key.origin * 0x9e3779b97f4a7c15u) >> 41;
  return (origin << 40) ^ key.number;
}

StreamStatus status_of(SharedStream& stream) {
  StreamStatus status;
  status.number = number_of(stream.key);
  status.size = stream.size.load(std::memory_order_acquire);
  status.modified = stream.modified.load(std::memory_order_relaxed);
  status.changed = stream.changed.load(std::memory_order_relaxed);
  status.mode = stream.mode.load(std::memory_order_relaxed);
  status.linked = stream.entry.load(std::memory_order_relaxed) != 0;
  return status;
}

void require_name(std::string_view name, const std::string& set) {
  if (name.empty()) throw os_error("a stream needs a name in", set, ENOENT);
  if (std::ssize(name) > longest_stream_name)
    throw os_error("the name of a stream is too long for", set, ENAMETOOLONG);
  if (name.find('\0') != std::string_view::npos) throw os_error("a name with NUL cannot be in", set, EINVAL);
}

}  // namespace sheaf
