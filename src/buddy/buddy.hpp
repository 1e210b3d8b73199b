// buddy/buddy: copies of a multifile's physical files, each kept by another group of tasks than the one that
// wrote it (docs/format.md, section "Buddy copies").
//
// A copy has the data area of its original, moved by the room that the dummy tasks take in the header. So it
// can be shown as the original: whoever reads a set gets, for a file that is missing or unreadable, a view of
// one of its copies, and need not know.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "comm/comm.hpp"
#include "exchange/pieces/extent.hpp"
#include "metadata/facts.hpp"
#include "storage/decorators/forwarding_store.hpp"

namespace sheaf {

// Name of copy `level` of the set `base`.
std::string buddy_name(const std::string& base, int level);

// Collective over `all`, after the set has been closed: copies 0 to levels-1. `local`: the tasks of physical
// file `facts.filenumber`, which is `path`. The first task of each group reads its file, and stores what the
// first task of another one sends. Throws on all tasks alike. Memory: O(tasks of a file) at these tasks.
void write_buddies(Store& store, Comm& all, Comm& local, const FileFacts& facts, const std::string& path,
                   const std::string& base, int levels);

namespace buddy {

// Pieces of a file that go to, or come from, task `peer` of a group; null: none are written, or read.
struct Moved {
  File* file = nullptr;
  int peer = 0;
  std::span<const exchange::Extent> pieces;
};

// Collective over `comm`: the pieces of `from` are read and sent, as single messages, those of `to` come and
// are written, if not all of their bytes are zero; at most `steps` on any task, which all agree on. Nothing
// is thrown; returns what went wrong here.
std::optional<Error> move_pieces(Comm& comm, int64_t steps, const Moved& from, const Moved& to);

}  // namespace buddy

// Collective over `all`, while the set `path` of `nfiles` files is opened for reading (1: file 0 alone, of
// any set). `needed`: the file that this task reads for others, or -1; no two bring the same. One that sees
// neither that file nor a copy (they lie on other nodes' disks) gets the file back under its name: any task
// that sees the file or a copy, whichever group wrote it, reads and sends it. Nothing happens where files or
// copies can be seen, or nobody sees them. Throws on all tasks alike if a file could not be made. Memory: 8
// bytes a file, if any is lacking; at those who send and store 4 MiB, and 16 bytes for each MiB of the file.
void restore_from_buddies(Store& store, Comm& all, const std::string& path, int levels, int64_t nfiles,
                          int64_t needed);

// For reading: files of the set `base` that cannot be opened, or whose metadata cannot be read, are replaced
// by views of their copies, unless another file of the set says that those are of an earlier set of that
// name. `inner` outlives the object. Throws what the original gives if there is no copy either.
class BuddyStore final : public ForwardingStore {
 public:
  BuddyStore(Store& inner, std::string base, int levels)
      : ForwardingStore(inner), base_(std::move(base)), levels_(levels) {}

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  FileStatus status(const std::string& path) override;

 private:
  struct Copy {
    std::shared_ptr<File> view;  // null: there is none
    bool earlier = false;        // there is one of an earlier set of that name
  };
  Copy open_copy(const std::string& path);
  bool is_earlier(File& copy, const std::string& path);

  std::string base_;
  int levels_;
};

}  // namespace sheaf
