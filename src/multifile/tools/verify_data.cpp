#include "multifile/tools/verify_data.hpp"

#include <algorithm>
#include <mutex>

#include "base/crc32c.hpp"
#include "comm/agree.hpp"
#include "multifile/create/work_threads.hpp"
#include "multifile/frames/constants.hpp"
#include "multifile/frames/stored_frames.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/stream/file_checks.hpp"
#include "multifile/tools/constants.hpp"

namespace sheaf::multifile {

namespace {

// Reads the data of one physical file and compares them with their checksums, if any. Reports defects through
// `say`.
class DataCheck {
 public:
  DataCheck(const PhysicalFile& file, WorkProgress& progress, const Say& say)
      : f_(file), progress_(progress), say_(say), buffer_(static_cast<size_t>(tools::checked_at_once)) {}

  void check(int64_t task, const TaskRow& row) {
    row_ = &row;
    task_ = task;
    blocks_ = BlockReader(f_.file, row.geometry, row.sizes, row.sums);
    for (const auto [block, bytes] : row.sizes.used())
      if (!check_block(block, bytes)) return;
  }

 private:
  // Reads and checks a block of the current task. Returns false if a part cannot be read.
  bool check_block(int64_t b, int64_t bytes) {
    blocks_.move_to(b);
    const int64_t checked = blocks_.checked_size(b);
    const int64_t piece = blocks_.piece();
    uint32_t sum = 0;  // checksum so far of a piece larger than the buffer
    for (int64_t at = 0; at < bytes;) {
      const bool is_checked = at < checked;
      const bool is_large = is_checked && piece > tools::checked_at_once;
      const int64_t begin = is_large ? at / piece * piece : at;
      int64_t end = bytes;
      if (is_checked)
        end = std::min(checked, begin + std::max(piece, tools::checked_at_once / piece * piece));
      const auto part = read(b, at, end - at);
      if (part.empty()) return false;
      if (is_large) {
        sum = crc32c(at == begin ? 0 : sum, part);
        if (at + std::ssize(part) == end)
          tell(attempt([&] { blocks_.check_sum({b, begin}, sum, end - begin); }));
      } else if (is_checked) {
        check_pieces_of(part, b, at);
      }
      at += std::ssize(part);
    }
    return true;
  }

  // Reads at most one buffer; returns nothing if a part cannot be read.
  std::span<const std::byte> read(int64_t block, int64_t at, int64_t bytes) {
    const auto part = std::span(buffer_).first(static_cast<size_t>(std::min(bytes, tools::checked_at_once)));
    const int64_t offset = row_->geometry.offset(block) + at;
    size_t got = 0;
    tell(attempt([&] { got = f_.file->read_at(part, offset); }));
    if (got < part.size()) {
      say_(FileState::damaged, "'" + f_.path() + "': data of task " + std::to_string(task_) + " at offset " +
                                   std::to_string(offset) + " cannot be read");
      return {};
    }
    progress_.advance(std::ssize(part));
    return part;
  }

  void check_pieces_of(std::span<const std::byte> part, int64_t block, int64_t at) {
    const auto compare = [&](std::span<const std::byte> some, int64_t from) {
      return attempt([&] { blocks_.check({block, from}, some); });
    };
    const auto unlike = compare(part, at);
    if (!unlike || unlike->code() != Code::damaged) return tell(unlike);
    for (size_t done = 0; done < part.size(); done += blocks_.piece())  // finds the damaged pieces
      tell(compare(part.subspan(done, std::min<size_t>(blocks_.piece(), part.size() - done)),
                   at + static_cast<int64_t>(done)));
  }

  void tell(const std::optional<Error>& error) {
    if (error) say_(state_of(error->code()), error->what());
  }

  const PhysicalFile& f_;
  WorkProgress& progress_;
  const Say& say_;
  std::vector<std::byte> buffer_;
  BlockReader blocks_;
  const TaskRow* row_ = nullptr;
  int64_t task_ = 0;
};

}  // namespace

void check_data(const PhysicalFile& f, WorkProgress& progress, const Say& say) {
  const int64_t share = std::max<int64_t>(1, f.header.ntasks / 256);
  std::mutex mutex;
  const Say say_one = [&](FileState state, const std::string& message) {
    const std::lock_guard lock(mutex);
    say(state, message);
  };
  on_threads((f.header.ntasks + share - 1) / share, progress, [&](int64_t i) { return i * share; },
             [&](int64_t, int64_t first, WorkProgress& shared) {
               DataCheck data(f, shared, say_one);
               FileRows rows(f);
               for (int64_t t = first; t < std::min<int64_t>(first + share, f.header.ntasks); ++t)
                 data.check(t, rows.at(t));
             });
  f.table->check_sums();
}

void check_frames(const Multifile& m, int64_t task, const TaskRow& row) {
  const PhysicalFile& f = m.file_of(row);
  if (!f.header.compressed) return;
  ReadStream stored;
  stored.buffer().set_max(frame_constants::stored_buffer);
  stored.load(f.file, row.geometry, row.sizes, {});
  const StreamPlaces places(row.sizes);
  const StoredTask what{task, row.geometry, !f.pointer.complete()};
  FrameReader frames;
  std::vector<std::byte> plain;
  for_each_frame(stored, what, [&](const format::Frame& frame) {
    if (frame.used == 0) return;
    plain.resize(frames.read(stored, places, what, frame).plain);
    frames.decode(plain);
  });
}

}  // namespace sheaf::multifile
