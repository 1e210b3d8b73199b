#include "multifile/stream/overruns.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "format/extension.hpp"
#include "multifile/stream/constants.hpp"

namespace sheaf::multifile {

using layout::ChunkGeometry;

namespace {

// Returns the offset to which byte `at` of the tail after a chunk is moved.
int64_t moved_to(const ChunkGeometry& g, int64_t chunk, int64_t at) {
  return g.offset(chunk + 1 + at / g.size) + at % g.size;
}

// Fills `data` from `offset`, with zeros for bytes beyond the end of the file.
void read_all(File& file, std::span<std::byte> data, int64_t offset) {
  std::ranges::fill(data.subspan(file.read_at(data, offset)), std::byte{});
}

// An overrun, as one process reports it to the others.
struct OverrunReport {
  int64_t process, file, task;
  ChunkGeometry geometry;
  TaskBlocks::Overrun overrun;

  int64_t begin() const { return geometry.offset(overrun.chunk) + geometry.size; }
  bool moved() const { return overrun.kept == overrun.bytes; }
};

// Visits the parts of the task's blocks in [begin, end) of the file.
template <class Visit>
void for_each_part(const WrittenTask& task, int64_t begin, int64_t end, Visit&& visit) {
  const ChunkGeometry& g = task.geometry;
  if (g.size == 0) return;
  for (int64_t b = std::max<int64_t>(0, (begin - g.start) / g.skip);
       b < task.blocks.count() && g.offset(b) < end; ++b) {
    const int64_t used = std::min(task.blocks.size_of(b), g.size);
    const BlockExtent part{b, std::max<int64_t>(0, begin - g.offset(b)), std::min(used, end - g.offset(b))};
    if (part.from < part.until) visit(part);
  }
}

enum class BytesState { intact, overwritten, unknown };

BytesState compare(File& file, const WrittenTask& task, const BlockExtent& part) {
  const int64_t piece = task.blocks.piece;
  if (piece == 0) return BytesState::unknown;
  const int64_t first = part.from / piece;
  const int64_t last = (part.until - 1) / piece + 1;
  const auto begin = task.blocks.find_sums({part.block, first, last}, task.geometry.size);
  if (!begin) return BytesState::unknown;
  const int64_t used = std::min(task.blocks.size_of(part.block), task.geometry.size);
  std::vector<uint32_t> found(static_cast<size_t>(last - first));
  sum_pieces(file, task.geometry.offset(part.block) + first * piece, used - first * piece, task.blocks.piece,
             found);
  const auto wanted = task.sums.subspan(static_cast<size_t>(*begin), found.size());
  return std::ranges::equal(found, wanted) ? BytesState::intact : BytesState::overwritten;
}

// Returns how many bytes at the start of the part equal those that the overrun had at the same position,
// which are in the moved tail.
int64_t alike(File& file, const OverrunReport& by, const WrittenTask& task, const BlockExtent& part) {
  const int64_t offset = task.geometry.offset(part.block);
  std::vector<std::byte> here, moved;
  for (int64_t at = part.from; at < part.until;) {
    const int64_t in_tail = offset + at - by.begin();
    const int64_t n = std::min(
        {part.until - at, by.geometry.size - in_tail % by.geometry.size, stream_constants::compared_at_once});
    here.resize(static_cast<size_t>(n));
    moved.resize(static_cast<size_t>(n));
    read_all(file, here, offset + at);
    read_all(file, moved, moved_to(by.geometry, by.overrun.chunk, in_tail));
    const auto differs = std::ranges::mismatch(here, moved).in1;
    at += differs - here.begin();
    if (differs != here.end()) return at - part.from;
  }
  return part.until - part.from;
}

std::string count(int64_t bytes) { return bytes == 1 ? "1 byte" : std::to_string(bytes) + " bytes"; }

[[noreturn]] void refuse(const std::string& path, int64_t task, int64_t offset, const TaskBlocks::Overrun& o,
                         const std::string& what) {
  throw file_error(Code::io, path,
                   "task " + std::to_string(task) + " wrote " + count(o.bytes) + " behind its chunk " +
                       std::to_string(o.chunk) + ", at offset " + std::to_string(offset) +
                       ", through its own stream, " + what +
                       "; call sion_ensure_free_space first, or open with fileptr=stream");
}

std::string name(int64_t task, const BlockExtent& part) {
  return count(part.until - part.from) + " of task " + std::to_string(task) + " (block " +
         std::to_string(part.block) + ", from byte " + std::to_string(part.from) + ")";
}

[[noreturn]] void overwritten(const std::string& path, int64_t by, int64_t offset,
                              const TaskBlocks::Overrun& o, int64_t task, const BlockExtent& part) {
  refuse(path, by, offset, o, "over " + name(task, part) + ", which are lost");
}

// Throws if the neighbour's bytes in the part may be lost. Both tasks have written to the part, which holds
// the bytes of the later write. Each task writes forward. If the first byte of the part differs from the
// moved tail, the tail was moved before the neighbour wrote, and nothing is lost. Otherwise the neighbour may
// have written first, and its bytes may be in the tail.
void check_part(File& file, const OverrunReport& by, const WrittenTask& task, const BlockExtent& part) {
  const BytesState state = compare(file, task, part);
  if (state == BytesState::overwritten)
    overwritten(file.path(), by.task, by.begin(), by.overrun, task.task, part);
  if (!by.moved() && state == BytesState::intact) return;  // the other process reports the loss
  const int64_t doubtful = by.moved() ? alike(file, by, task, part) : part.until - part.from;
  if (doubtful > 0)
    refuse(
        file.path(), by.task, by.begin(), by.overrun,
        "where " + name(task.task, part) + " are: nobody knows whose " + count(doubtful) + " are left there");
}

// Returns the reports of all processes, on each process. Collective.
std::vector<OverrunReport> share(Comm& comm, std::span<const OverrunReport> mine) {
  Gathered all = comm.gather(std::as_bytes(mine), 0);
  int64_t bytes = std::ssize(all.bytes);
  comm.broadcast(std::as_writable_bytes(std::span(&bytes, 1)), 0);
  std::vector<OverrunReport> reports(static_cast<size_t>(bytes) / sizeof(OverrunReport));
  if (!all.bytes.empty()) std::memcpy(reports.data(), all.bytes.data(), all.bytes.size());
  comm.broadcast(std::as_writable_bytes(std::span(reports)), 0);
  return reports;
}

}  // namespace

// Moves the last bytes first. A byte moves to its own offset or a later one, so bytes still to be moved are
// never overwritten. Reads all bytes twice: if another task writes during a read, the second read differs.
void move_tail(File& file, const ChunkGeometry& g, int64_t chunk, int64_t bytes) {
  SHEAF_ASSERT(g.size > 0 && chunk >= 0 && bytes >= 0);
  const int64_t begin = g.offset(chunk) + g.size;
  std::vector<std::byte> data, again;
  for (int64_t left = bytes; left > 0;) {
    const int64_t n = std::min((left - 1) % g.size + 1, stream_constants::compared_at_once);
    const int64_t to = moved_to(g, chunk, left - n);
    left -= n;
    if (to == begin + left) return;
    data.resize(static_cast<size_t>(n));
    again.resize(static_cast<size_t>(n));
    read_all(file, data, begin + left);
    read_all(file, again, begin + left);
    if (data != again)
      throw file_error(Code::io, file.path(), "another task writes to its chunk, where they are");
    file.write_at(data, to);
  }
}

void require_tails(const WrittenTask& written, const std::string& path) {
  for (const TaskBlocks::Overrun& o : written.blocks.overruns())
    if (o.kept < o.bytes)
      refuse(path, written.task, written.geometry.offset(o.chunk) + written.geometry.size, o,
             "and " + count(o.bytes - o.kept) + " are lost");
}

void OwnOverruns::look(const WrittenTask& parked, const WrittenTask& other) {
  for (const TaskBlocks::Overrun& o : parked.blocks.new_overruns()) {
    const int64_t begin = parked.geometry.offset(o.chunk) + parked.geometry.size;
    for_each_part(other, begin, begin + o.bytes, [&](const BlockExtent& part) {
      hits_.push_back({parked.task, other.task, o, begin, part});
    });
  }
}

void OwnOverruns::check(File& file, const WrittenTask& written) const {
  for (const Hit& hit : hits_) {
    if (hit.task != written.task) continue;
    if (compare(file, written, hit.part) != BytesState::intact)
      overwritten(file.path(), hit.by, hit.offset, hit.overrun, hit.task, hit.part);
  }
}

std::optional<Error> check_neighbours(Comm& comm, std::span<const WrittenTask> mine,
                                      const std::function<std::shared_ptr<File>(int32_t file)>& open) {
  std::vector<OverrunReport> reports;
  for (const WrittenTask& t : mine)
    for (const TaskBlocks::Overrun& o : t.blocks.overruns())
      reports.push_back({comm.rank(), t.file, t.task, t.geometry, o});
  reports = share(comm, reports);
  return attempt([&] {
    std::map<int32_t, std::shared_ptr<File>> files;
    for (const OverrunReport& r : reports) {
      if (r.process == comm.rank()) continue;
      for (const WrittenTask& t : mine) {
        if (t.file != r.file) continue;
        for_each_part(t, r.begin(), r.begin() + r.overrun.bytes, [&](const BlockExtent& part) {
          auto& file = files[t.file];
          if (!file) file = open(t.file);
          check_part(*file, r, t, part);
        });
      }
    }
  });
}

}  // namespace sheaf::multifile
