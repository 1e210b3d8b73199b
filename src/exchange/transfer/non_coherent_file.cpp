#include "exchange/transfer/non_coherent_file.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "exchange/pieces/constants.hpp"
#include "storage/range.hpp"

namespace sheaf::exchange {

namespace {

// Returns the request extended to whole pages.
LockRequest in_pages(LockRequest wanted) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const int64_t end = wanted.offset + std::min(std::max<int64_t>(wanted.length, 1), most - wanted.offset);
  wanted.offset -= wanted.offset % max_host_page;
  wanted.length = align_up(end, max_host_page).value_or(most) - wanted.offset;
  return wanted;
}

}  // namespace

template <class Part>
void NonCoherentFile::while_locked(int64_t offset, int64_t length, Part part) {
  if (held_ > 0) return part();
  RangeLock held;
  try {
    if (policy_.locks != LockScope::none) held = lock(offset, length, true);
  } catch (const Error& e) {
    if (e.errno_value() == EAGAIN) throw;
  }
  if (!held) revalidate();  // without locks no other task is excluded
  auto problem = attempt(part);
  attempt(problem, [&] { sync(); });
  if (problem) throw *problem;
}

void NonCoherentFile::write(std::span<const std::byte> data, int64_t offset, KeptRanges& kept) {
  require_range(path(), offset, data.size());
  if (data.empty()) return;
  written_ = Written::unpublished;
  if (!inner().write_directly(data, offset)) {
    through_ = false;
    while_locked(offset, std::ssize(data), [&] { inner().write_at(data, offset); });
  }
  written_ = Written::unpublished;  // even if another thread has published in the meantime
  kept.add(offset, offset + std::ssize(data));
}

void NonCoherentFile::write(std::span<const Piece<const std::byte>> pieces, KeptRanges& kept) {
  if (pieces.empty()) return;
  const auto write_each = [&] {
    for (const auto& piece : pieces) write(piece.memory, piece.offset, kept);
  };
  if (through_) return write_each();
  const int64_t low = std::ranges::min(pieces, {}, &Piece<const std::byte>::offset).offset;
  while_locked(low, std::ranges::max(pieces, {}, &Piece<const std::byte>::end).end() - low, write_each);
}

size_t NonCoherentFile::read_at(std::span<std::byte> data, int64_t offset) {
  require_range(path(), offset, data.size());
  return read(data, offset, keeps(offset, offset + std::ssize(data)));
}

size_t NonCoherentFile::read(std::span<std::byte> data, int64_t offset, bool kept) {
  if (kept) return inner().read_at(data, offset);
  revalidate_if_stale();
  return inner().read_directly(data, offset);
}

FileStatus NonCoherentFile::status() {
  revalidate_if_stale();
  return inner().status();
}

void NonCoherentFile::resize(int64_t size) {
  written_ = Written::unpublished;
  forget_all();
  inner().resize(size);
}

// Revalidates if other tasks have published since the last revalidation. Threads that arrive meanwhile wait
// for the result.
void NonCoherentFile::revalidate_if_stale() {
  const std::lock_guard lock(revalidating_);
  if (!stale_.exchange(false)) return;
  try {
    inner().revalidate();
  } catch (...) {
    stale_ = true;
    throw;
  }
}

void NonCoherentFile::close() {
  const auto publishing = attempt([&] { publish(); });
  inner().close();
  if (publishing) throw *publishing;
}

// Calls part(), which publishes or syncs all written bytes, unless they have the state `to` already. Other
// threads that call ensure_state() wait until part() has finished.
template <class Part>
void NonCoherentFile::ensure_state(Written to, Part part) {
  const std::lock_guard lock(publishing_);
  if (written_ <= to) return;
  written_ = to;
  const auto problem = attempt(part);
  if (!policy_.keeps_own_writes()) stale_ = true;  // own writes, too, are visible only after a revalidation
  if (!problem) return;
  written_ = Written::unpublished;
  throw *problem;
}

void NonCoherentFile::sync() {
  ensure_state(Written::synced, [&] { inner().sync(); });
}

void NonCoherentFile::publish() {
  ensure_state(Written::published, [&] { inner().publish(); });
}

RangeLock NonCoherentFile::lock_range(const LockRequest& wanted) {
  RangeLock lock = inner().lock_range(in_pages(wanted));
  if (!lock) return lock;
  ++held_;
  RangeLock mine = held_until([this, pages_held = std::move(lock.held)]() mutable {
    --held_;
    pages_held.reset();
  });
  revalidate();
  return mine;
}

// Assumes that the caller writes through the descriptor.
FileDescriptor NonCoherentFile::descriptor(DescriptorKind kind) {
  written_ = Written::unpublished;
  changed_ = true;
  return inner().descriptor(kind);
}

}  // namespace sheaf::exchange
