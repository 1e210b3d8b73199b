#include "exchange/transfer/hosts_file.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>

#include "storage/range.hpp"

namespace sheaf::exchange {

namespace {

struct Pages {
  int64_t begin;
  int64_t length;
};

Pages pages_of(int64_t offset, int64_t length) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const int64_t begin = offset - offset % HostsFile::page;
  const int64_t end = offset + std::min(std::max<int64_t>(length, 1), most - offset);
  const int64_t beyond = (HostsFile::page - end % HostsFile::page) % HostsFile::page;
  return {begin, end - begin + std::min(beyond, most - end)};
}

}  // namespace

// False where there are no locks: then nobody is kept out.
bool HostsFile::take_lock(int64_t offset, int64_t length) {
  if (locks_ == LockScope::none) return false;
  const Pages pages = pages_of(offset, length);
  try {
    inner().lock(pages.begin, pages.length, true);
    return true;
  } catch (const Error& e) {
    if (e.errno_value() == EAGAIN) throw;
    return false;
  }
}

bool HostsFile::begin_writes(int64_t offset, int64_t length) {
  if (through_ || held_ > 0) return false;
  const bool locked = take_lock(offset, length);
  if (locked) ++held_;
  const auto problem = attempt([&] { renew(); });
  if (problem) {
    end_writes(offset, length, locked, problem);
    throw *problem;
  }
  return locked;
}

void HostsFile::end_writes(int64_t offset, int64_t length, bool held, const std::optional<Error>& problem) {
  std::optional<Error> bringing;
  if (held) {
    bringing = attempt([&] { bring(); });
    unlock(offset, length);
  }
  if (problem) throw *problem;
  if (bringing) throw *bringing;
}

void HostsFile::write_at(std::span<const std::byte> data, int64_t offset) {
  require_range(path(), offset, data.size());
  if (data.empty()) return;
  unsynced_ = true;
  if (inner().write_through(data, offset)) return;
  through_ = false;
  if (held_ > 0) return inner().write_at(data, offset);
  while_written(offset, std::ssize(data), [&] { inner().write_at(data, offset); });
}

size_t HostsFile::read_at(std::span<std::byte> data, int64_t offset) {
  return inner().read_through(data, offset);
}

void HostsFile::resize(int64_t size) {
  unsynced_ = true;
  inner().resize(size);
}

void HostsFile::allocate(int64_t size) {
  renew();  // it is made longer if it is too short, and only then
  unsynced_ = true;
  inner().allocate(size);
}

void HostsFile::sync() {
  unsynced_ = false;
  try {
    inner().sync();
  } catch (...) {
    unsynced_ = true;
    throw;
  }
}

void HostsFile::bring() {
  if (unsynced_) sync();
}

LockResult HostsFile::lock(int64_t offset, int64_t length, bool exclusive, Barred barred) {
  const Pages pages = pages_of(offset, length);
  const LockResult result = inner().lock(pages.begin, pages.length, exclusive, barred);
  if (!result.held) return result;
  ++held_;
  if (const auto problem = attempt([&] { renew(); })) {
    unlock(offset, length);
    throw *problem;
  }
  return result;
}

// What could not be brought to the server is told by the transfer, which brings it before.
void HostsFile::unlock(int64_t offset, int64_t length) {
  const Pages pages = pages_of(offset, length);
  --held_;
  inner().unlock(pages.begin, pages.length);
}

void to_server(File& file) {
  if (auto* const hosts = dynamic_cast<HostsFile*>(&file)) hosts->bring();
}

void from_server(File& file) {
  if (auto* const hosts = dynamic_cast<HostsFile*>(&file)) hosts->renew();
}

}  // namespace sheaf::exchange
