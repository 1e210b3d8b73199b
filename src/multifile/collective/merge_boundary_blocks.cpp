#include "multifile/collective/merge_boundary_blocks.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "multifile/collective/constants.hpp"
#include "multifile/collective/group_transfer.hpp"
#include "multifile/collective/pending_extents.hpp"
#include "storage/decorators/forwarding_file.hpp"

namespace sheaf::multifile {

using collective_constants::brought_at_once;

namespace {

// An extent of whole blocks of shared granularity, and the task that writes it.
struct FileDomain {
  int64_t begin = 0;
  int64_t end = 0;
  int writer = 0;
};

// Returns the domain that begins with the block at `first`, the lowest offset of the remaining boundary
// blocks. Successive domains have writers on different hosts.
FileDomain next_domain(const BoundaryMergeTarget& where, int64_t first, int64_t number, int ntasks) {
  const int64_t length = std::max(where.unit, brought_at_once / where.unit * where.unit);
  const int64_t begin = first / where.unit * where.unit;
  // The block at `last_unit` contains the start of the block table, so the metadata writer writes it.
  const int64_t last_unit = where.end / where.unit * where.unit;
  if (begin >= last_unit) return {begin, where.end, where.metadata_writer};
  FileDomain domain{begin, std::min(begin + length, last_unit), where.metadata_writer};
  const int64_t step = std::max<int64_t>(1, ntasks / std::max<int64_t>(1, where.hosts));
  if (begin >= where.data_start) domain.writer = static_cast<int>(number * step % ntasks);
  return domain;
}

// Lowest offset of the boundary blocks that are not merged yet; INT64_MAX: none are left.
struct FirstOffset {
  int64_t offset = INT64_MAX;
  constexpr void combine(auto& by) { by.min(offset); }
};

// The bytes that tasks of this process have written to boundary blocks, in file order.
class BoundaryBytes {
 public:
  BoundaryBytes(BoundaryBlocks* boundary_blocks, std::span<const Extent> extents)
      : boundary_blocks_(boundary_blocks), extents_(extents) {}

  FirstOffset first() const { return extents_.empty() ? FirstOffset{} : FirstOffset{begin()}; }

  // Appends the next bytes, up to offset `end` of the file `path`, to `held`. If that fails, drops all bytes:
  // the other tasks continue without them.
  std::optional<Error> take(int64_t end, const std::string& path, PendingExtents& held) {
    const auto unread = attempt([&] {
      std::vector<std::byte> bytes;
      while (!extents_.empty() && begin() < end) {
        bytes.resize(static_cast<size_t>(std::min(extents_.front().end(), end) - begin()));
        if (boundary_blocks_->read(bytes, begin()) != bytes.size())
          throw file_error(
              Code::io, path,
              "what was kept beside it for offset " + std::to_string(begin()) + " is no longer there");
        held.append(bytes, begin());
        done_ += std::ssize(bytes);
        if (begin() < extents_.front().end()) continue;
        extents_ = extents_.subspan(1);
        done_ = 0;
      }
    });
    if (unread) {
      held.clear();
      extents_ = {};
    }
    return unread;
  }

 private:
  int64_t begin() const { return extents_.front().offset + done_; }

  BoundaryBlocks* const boundary_blocks_;
  std::span<const Extent> extents_;  // not taken yet, except `done_` bytes of the first one
  int64_t done_ = 0;
};

// Replaces the physical file in a transfer on tasks that do not write to the file.
class NotWritten final : public ForwardingFile {
 public:
  NotWritten() : ForwardingFile(nullptr) {}
};

}  // namespace

void add_boundary_blocks(const layout::BoundaryMap& map, int64_t offset, int64_t length,
                         std::vector<Extent>& extents) {
  SHEAF_ASSERT(length >= 0);
  map.for_each_part(offset, length, [&](int64_t at, int64_t bytes, const auto& part) {
    if (part.is_boundary) extents.push_back({at, bytes});
    return true;
  });
}

std::optional<Error> merge_boundary_blocks(Comm& comm, const std::string& path, const FileToWrite& file,
                                           const BoundaryMergeTarget& where, BoundaryBlocks* boundary_blocks,
                                           std::span<const Extent> extents) {
  SHEAF_DEBUG_ASSERT(std::ranges::is_sorted(extents, {}, &Extent::offset));
  SHEAF_ASSERT(boundary_blocks || extents.empty());
  BoundaryBytes rest(boundary_blocks, extents);
  std::optional<Error> problem;
  for (int64_t number = 0;; ++number) {
    FirstOffset first = rest.first();
    reduce(comm, first);
    if (first.offset == INT64_MAX) return problem;
    const FileDomain domain = next_domain(where, first.offset, number, comm.size());
    if (domain.end <= first.offset)  // true on all tasks or on none
      return file_error(Code::damaged, path,
                        "has bytes of a task at offset " + std::to_string(first.offset) +
                            ", behind its end at " + std::to_string(where.end));
    PendingExtents held;
    const auto unread = rest.take(domain.end, path, held);
    if (!problem) problem = unread;
    GroupTransfer transfer(CollectiveGroup(comm, domain.writer));
    const int64_t each = step_bytes(comm.size());
    NotWritten none;
    File* target = &none;
    const auto unready = attempt([&] {
      transfer.reserve(each);
      if (comm.rank() == domain.writer) target = &file();
    });
    if (!problem) problem = unready;
    GroupTransfer::RoundFacts facts{unready.has_value(), 0, {held.bytes(), std::ssize(held.extents()), each}};
    reduce(comm, facts);
    if (facts.load.bytes == 0 || facts.failed) continue;
    const auto outcome = transfer.write(*target, held.placed(), facts.load);
    if (!problem) problem = outcome;
  }
}

}  // namespace sheaf::multifile
