// multifile/buddy/buddy: writes and reads copies of the physical files of a multifile (docs/format.md,
// section "Buddy copies"). The tasks of one physical file form a group. The first task of a group stores
// copies of the files of other groups.
//
// A copy contains the data area of its original. The header of the copy also lists dummy tasks, so the data
// begin at a larger offset. If a file is missing or unreadable, a BuddyStore opens a view of a copy instead.
// The view looks like the original, so readers need no special code.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/extent.hpp"
#include "comm/comm.hpp"
#include "multifile/metadata/facts.hpp"
#include "storage/decorators/forwarding_store.hpp"

namespace sheaf::multifile {

// Returns the base name of copy `level`, counted from 0, of the set `base`.
std::string buddy_name(const std::string& base, int level);

// Writes copies 0 to levels-1 of every file of the closed set `base`. Collective over `all`, the tasks of the
// set. The first task of each group passes `number` and `path` of the physical file of its group; other tasks
// pass -1. It reads the file, sends the data to another group, and stores the data that it receives. Throws
// on all tasks alike. The first tasks need O(tasks of a file) memory.
void write_buddies(Store& store, Comm& all, int32_t number, const std::string& path, const std::string& base,
                   int levels);

namespace buddy {

// The extents of a file that one task reads and sends to task `peer`, or receives from `peer` and writes. If
// `file` is null, nothing is read, and received bytes are discarded.
struct PeerExtents {
  File* file = nullptr;
  int peer = 0;
  std::span<const Extent> pieces;
};

// Copies extents between files of different tasks. Collective over `comm`. Reads each extent of `from` and
// sends it as a single message. Receives each extent of `to`, and writes it unless all its bytes are zero.
// `steps` is the maximum over all tasks of the number of extents; all tasks pass the same value. Never
// throws. Returns the error of this task, if any.
std::optional<Error> move_pieces(Comm& comm, int64_t steps, const PeerExtents& from, const PeerExtents& to);

}  // namespace buddy

// Restores physical files that the tasks reading them cannot access. Collective over `all`; called while the
// set `path` of `nfiles` files is opened for reading. If `nfiles` is 1, only file 0 is restored, even if the
// set has more files. `needed` is the number of the file that this task reads for other tasks, or -1. No two
// tasks may pass the same file.
//
// A task may be unable to access its file and all copies, because they are on disks of other hosts. Such a
// task creates the file again under its name, with bytes that a task with access to the file or a copy sends.
// A file that no task can access stays missing. Throws on all tasks alike if a file could not be created.
//
// If a file is missing, each task needs 16 bytes of memory per file of the set. A sending or storing task
// needs 4 MiB more, and 16 bytes per MiB of the file.
void restore_from_buddies(Store& store, Comm& all, const std::string& path, int levels, int64_t nfiles,
                          int64_t needed);

// A store that reads the set `base`, from copies if necessary. open() returns a view of a copy if a file of
// the set cannot be opened or its metadata cannot be read. open() ignores a copy with a different identity
// than the other files of the set, because such a copy belongs to an earlier set of that name. If no copy is
// usable, open() returns the original if it is only unclosed; otherwise it throws the error of the original.
// `inner` must outlive the object.
class BuddyStore final : public ForwardingStore {
 public:
  BuddyStore(Store& inner, std::string base, int levels)
      : ForwardingStore(inner), base_(std::move(base)), levels_(levels) {}

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  FileStatus status(const std::string& path) override;

 private:
  struct BuddyCopy {
    std::shared_ptr<File> view;  // null: no usable copy
    bool earlier = false;        // a copy of an earlier set of that name exists
  };
  BuddyCopy open_copy(const std::string& path);

  std::string base_;
  int levels_;
};

}  // namespace sheaf::multifile
