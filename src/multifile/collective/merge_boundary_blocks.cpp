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
  std::optional<Error> problem;
  size_t next = 0;
  int64_t done = 0;  // bytes of extents[next]
  for (int64_t number = 0;; ++number) {
    int64_t first = next < extents.size() ? -(extents[next].offset + done) : INT64_MIN;
    comm.all_max(std::span(&first, 1));
    if (first == INT64_MIN) return problem;
    const FileDomain domain = next_domain(where, -first, number, comm.size());
    if (domain.end <= -first)  // true on all tasks or on none
      return file_error(Code::damaged, path,
                        "has bytes of a task at offset " + std::to_string(-first) + ", behind its end at " +
                            std::to_string(where.end));
    PendingExtents held;
    const auto unread = attempt([&] {
      std::vector<std::byte> bytes;
      for (; next < extents.size() && extents[next].offset + done < domain.end;) {
        const Extent& extent = extents[next];
        const int64_t at = extent.offset + done;
        bytes.resize(static_cast<size_t>(std::min(extent.offset + extent.length, domain.end) - at));
        if (boundary_blocks->read(bytes, at) != bytes.size())
          throw file_error(
              Code::io, path,
              "what was kept beside it for offset " + std::to_string(at) + " is no longer there");
        held.append(bytes, at);
        done += std::ssize(bytes);
        if (done == extent.length) {
          ++next;
          done = 0;
        }
      }
    });
    if (unread) {  // the other tasks continue without these bytes
      held.clear();
      next = extents.size();
      if (!problem) problem = unread;
    }
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
