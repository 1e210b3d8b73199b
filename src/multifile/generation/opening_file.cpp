#include "multifile/generation/opening_file.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "multifile/generation/generation.hpp"

namespace sheaf::multifile {

// Copies bytes that were prefetched. Returns false if any is missing; `data` is undefined then.
bool OpeningFile::serve(std::span<std::byte> data, int64_t offset) const {
  while (!data.empty()) {
    const auto found = std::ranges::find_if(
        prefetched_, [&](const Prefetched& p) { return p.offset <= offset && offset < p.end(); });
    if (found == prefetched_.end()) return false;
    const size_t n = std::min(data.size(), static_cast<size_t>(found->end() - offset));
    std::memcpy(data.data(), found->bytes.data() + (offset - found->offset), n);
    data = data.subspan(n);
    offset += static_cast<int64_t>(n);
  }
  return true;
}

size_t OpeningFile::read_at(std::span<std::byte> data, int64_t offset) {
  if (!is_opening()) return inner().read_at(data, offset);
  const size_t got = serve(data, offset) ? data.size() : inner().read_at(data, offset);
  if (unchecked_ && offset == 0 && data.size() >= format::fixed_size) {
    unchecked_ = false;
    attempt_->store->require_expected(
        identity_in(data.first(std::min(got, size_t{format::fixed_size})), path()), path());
  }
  return got;
}

void OpeningFile::prefetch(int64_t offset, int64_t length) {
  if (!is_opening() || !attempt_->prefetches) return;
  const int64_t end = offset + length;
  for (const Prefetched& p : prefetched_)
    if (p.offset <= offset && offset < p.requested_end) offset = p.requested_end;
  if (offset >= end) return;
  Prefetched more{offset, end, std::vector<std::byte>(static_cast<size_t>(end - offset))};
  more.bytes.resize(inner().read_at(more.bytes, offset));
  prefetched_.push_back(std::move(more));
}

void OpeningFile::drop_prefetched(int64_t from) {
  for (Prefetched& p : prefetched_) {
    if (from < p.end()) p.bytes.resize(static_cast<size_t>(std::max<int64_t>(from - p.offset, 0)));
    p.requested_end = std::min(p.requested_end, from);
  }
  std::erase_if(prefetched_, [](const Prefetched& p) { return p.bytes.empty(); });
  if (prefetched_.empty()) prefetched_.shrink_to_fit();
}

void OpeningFile::revalidate() {
  drop_prefetched(0);
  inner().revalidate();
}

int64_t OpeningFile::revalidate_opened() {
  drop_prefetched(0);
  return inner().revalidate_opened();
}

void OpeningFile::reopen() {
  drop_prefetched(0);
  inner().reopen();
}

void OpeningFile::check_identity() {
  if (unchecked_ && is_opening()) read_identity(*this);
}

}  // namespace sheaf::multifile
