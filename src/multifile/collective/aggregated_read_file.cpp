#include "multifile/collective/aggregated_read_file.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "multifile/collective/constants.hpp"
#include "multifile/metadata/boundary_blocks_reader.hpp"

namespace sheaf::multifile {

using namespace collective_constants;

std::shared_ptr<File> AggregatedReadFile::prepared(std::shared_ptr<File> file) const {
  if (unclosed_) file = with_boundary_blocks(store_, std::move(file));
  return watched(std::move(file), identity_);
}

size_t AggregatedReadFile::read_at(std::span<std::byte> data, int64_t offset) {
  const std::lock_guard lock(mutex_);
  size_t done = 0;
  while (done < data.size()) {
    const int64_t at = offset + static_cast<int64_t>(done);
    size_t start = 0;
    auto extent = extents_.begin();
    for (; extent != extents_.end() && (at < extent->offset || at >= extent->end()); ++extent)
      start += static_cast<size_t>(extent->length);
    if (extent == extents_.end()) break;
    const size_t n = std::min(data.size() - done, static_cast<size_t>(extent->end() - at));
    std::memcpy(data.data() + done, bytes_.data() + start + (at - extent->offset), n);
    done += n;
  }
  return done == data.size() ? done
                             : done + read_alone(data.subspan(done), offset + static_cast<int64_t>(done));
}

size_t AggregatedReadFile::read_alone(std::span<std::byte> data, int64_t offset) {
  if (data.size() > small_read) return real().read_at(data, offset);
  const auto end = [this] { return ahead_offset_ + std::ssize(ahead_); };
  if (offset < ahead_offset_ || offset + std::ssize(data) > end()) {
    std::vector<std::byte> fresh(read_ahead);
    fresh.resize(real().read_at(fresh, offset));
    ahead_ = std::move(fresh);
    ahead_offset_ = offset;
  }
  const auto n = static_cast<size_t>(std::clamp<int64_t>(end() - offset, 0, std::ssize(data)));
  if (n > 0) std::memcpy(data.data(), ahead_.data() + (offset - ahead_offset_), n);
  return n;
}

}  // namespace sheaf::multifile
