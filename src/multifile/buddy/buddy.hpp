// multifile/buddy/buddy: copies of the physical files of a multifile. The tasks of a different group store
// the copy of a file (docs/format.md, section "Buddy copies").
//
// A copy contains the data area of its original, shifted by the space that dummy tasks take in the header. It
// can therefore be presented as the original. A reader of the set gets a view of a copy in place of a missing
// or unreadable file, without special handling.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "comm/comm.hpp"
#include "exchange/pieces/extent.hpp"
#include "multifile/metadata/facts.hpp"
#include "storage/decorators/forwarding_store.hpp"

namespace sheaf {

// Returns the name of copy `level` of the set `base`.
std::string buddy_name(const std::string& base, int level);

// Writes copies 0 to levels-1. Collective over `all`, after the set has been closed. local: the tasks of the
// physical file `path`, which has the number `facts.filenumber`. The first task of each group reads its file
// and stores the data that the first task of a different group sends. Throws on all tasks alike. Memory:
// O(tasks of a file) on these first tasks.
void write_buddies(Store& store, Comm& all, Comm& local, const FileFacts& facts, const std::string& path,
                   const std::string& base, int levels);

namespace buddy {

// Extents of a file that are sent to, or received from, task `peer`. file: null if nothing is read or
// written.
struct Moved {
  File* file = nullptr;
  int peer = 0;
  std::span<const exchange::Extent> pieces;
};

// Copies extents between files of two tasks. Collective over `comm`. Each extent of `from` is read and sent
// as a single message. Each extent of `to` is received, and written unless all its bytes are zero. steps: the
// largest number of extents on any task, the same on all. Throws nothing; returns the error of this task.
std::optional<Error> move_pieces(Comm& comm, int64_t steps, const Moved& from, const Moved& to);

}  // namespace buddy

// Restores files that their readers cannot access. Collective over `all`, while the set `path` of `nfiles`
// files is opened for reading. An `nfiles` of 1 means only file 0, of any set. needed: the file that this
// task reads for other tasks, or -1; no two tasks pass the same file.
//
// If a task can access neither its file nor a copy (they are on disks of other hosts), the file is created
// again under its name. Any task that can access the file or a copy reads and sends it. Nothing happens if
// all needed files are accessible, or if no task can access a missing one. Throws on all tasks alike if a
// file could not be created. Memory if a file is missing: 8 bytes per file; on a sending or storing task 4
// MiB, and 16 bytes per MiB of the file.
void restore_from_buddies(Store& store, Comm& all, const std::string& path, int levels, int64_t nfiles,
                          int64_t needed);

// A store for reading. Opens a view of a copy if a file of the set `base` cannot be opened, or if its
// metadata cannot be read. A copy is not used if another file of the set shows that it belongs to an earlier
// set of that name. Throws the error of the original if no copy is usable. `inner` must outlive the object.
class BuddyStore final : public ForwardingStore {
 public:
  BuddyStore(Store& inner, std::string base, int levels)
      : ForwardingStore(inner), base_(std::move(base)), levels_(levels) {}

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  FileStatus status(const std::string& path) override;

 private:
  struct Copy {
    std::shared_ptr<File> view;  // null: no usable copy
    bool earlier = false;        // a copy of an earlier set of that name exists
  };
  Copy open_copy(const std::string& path);
  bool is_earlier(File& copy, const std::string& path);

  std::string base_;
  int levels_;
};

}  // namespace sheaf
