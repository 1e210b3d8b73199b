#include "exchange/transfer/hosts_file.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>

#include "comm/agree.hpp"
#include "exchange/pieces/constants.hpp"
#include "storage/range.hpp"

namespace sheaf::exchange {

namespace {

struct Pages {
  int64_t begin;
  int64_t length;
};

Pages pages_of(int64_t offset, int64_t length) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const int64_t begin = offset - offset % most_host_page;
  const int64_t end = offset + std::min(std::max<int64_t>(length, 1), most - offset);
  const int64_t beyond = (most_host_page - end % most_host_page) % most_host_page;
  return {begin, end - begin + std::min(beyond, most - end)};
}

}  // namespace

// Null where there are no locks: then nobody is kept out.
RangeLock HostsFile::try_to_lock(int64_t offset, int64_t length) {
  if (locks_ == LockScope::none) return {};
  try {
    return lock(offset, length, true);
  } catch (const Error& e) {
    if (e.errno_value() == EAGAIN) throw;
    return {};
  }
}

template <class Part>
void HostsFile::while_locked(int64_t offset, int64_t length, Part part) {
  if (held_ > 0) return part();
  const RangeLock lock = try_to_lock(offset, length);
  if (!lock) renew();
  const auto problem = attempt(part);
  const auto bringing = lock ? attempt([&] { sync(); }) : std::nullopt;
  if (problem) throw *problem;
  if (bringing) throw *bringing;
}

void HostsFile::write_at(std::span<const std::byte> data, int64_t offset) {
  require_range(path(), offset, data.size());
  if (data.empty()) return;
  unsynced_ = true;
  PastCache* const past = inner().traits().past_cache;
  if (!past) return inner().write_at(data, offset);
  if (past->write_past_cache(data, offset)) return;
  through_ = false;
  while_locked(offset, std::ssize(data), [&] { inner().write_at(data, offset); });
}

void HostsFile::write_pieces(std::span<const Piece<const std::byte>> pieces) {
  if (pieces.empty()) return;
  const auto write = [&] { File::write_pieces(pieces); };
  if (through_) {
    write();
  } else {
    const int64_t low = std::ranges::min(pieces, {}, &Piece<const std::byte>::offset).offset;
    while_locked(low, std::ranges::max(pieces, {}, &Piece<const std::byte>::end).end() - low, write);
  }
}

size_t HostsFile::read_at(std::span<std::byte> data, int64_t offset) {
  PastCache* const past = inner().traits().past_cache;
  return past ? past->read_past_cache(data, offset) : inner().read_at(data, offset);
}

void HostsFile::resize(int64_t size) {
  unsynced_ = true;
  inner().resize(size);
}

void HostsFile::sync() {
  if (!unsynced_.exchange(false)) return;
  try {
    inner().sync();
  } catch (...) {
    unsynced_ = true;
    throw;
  }
}

RangeLock HostsFile::lock_range(const LockRequest& wanted) {
  const Pages pages = pages_of(wanted.offset, wanted.length);
  LockRequest whole = wanted;
  whole.offset = pages.begin;
  whole.length = pages.length;
  RangeLock lock = inner().lock_range(whole);
  if (!lock) return lock;
  ++held_;
  RangeLock mine = held_until([this, pages_held = std::move(lock.held)]() mutable {
    --held_;
    pages_held.reset();
  });
  renew();
  return mine;
}

// Whoever has one writes by it.
FileDescriptor HostsFile::descriptor(Whose whose) {
  unsynced_ = true;
  return inner().descriptor(whose);
}

}  // namespace sheaf::exchange
