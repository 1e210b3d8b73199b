// mpiio/file/across_hosts: adapts the access to a shared file to the hosts of its tasks
// (storage/visibility.hpp). Task 0 determines the traits of the file system once, and all tasks use them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "comm/comm.hpp"
#include "exchange/transfer/non_coherent_file.hpp"
#include "storage/store.hpp"
#include "storage/visibility.hpp"

namespace sheaf::mpiio {

struct SharedMode;

// Chooses the policy for the hosts of `comm`. Collective if the hosts do not share a page cache, else local.
VisibilityPolicy across_hosts(const FileSystemTraits& traits, Comm& comm);

// Throws unsupported, naming `path`, unless locks exclude all other tasks.
void require_locks(const VisibilityPolicy& policy, const std::string& path);

// Replaces `file` by a NonCoherentFile on top of it, and returns that, if hosts have caches of their own.
// Else, or if `file` is null, returns null.
std::shared_ptr<exchange::NonCoherentFile> wrap(const VisibilityPolicy& policy, std::shared_ptr<File>& file);

// Collective. Waits until all tasks are ready to close a striped file; has no effect on other files. The last
// user of a subfile sets the length of the subfile when it closes. Without I/O listeners every task is such a
// user, and a task must not set the length while others write. Returns the error of this task.
std::optional<Error> await_all_before_close(File& file, Comm& comm, bool syncs);

// Open the file. Local. Task 0 calls open_first(), which creates the file if `mode` requests it. A file
// created with a set `wanted` is striped accordingly. open_first() also determines `traits`, which are
// unchanged on failure. The other tasks call open_next() on the existing file. On hosts with separate page
// caches, both functions retry for up to 5 s, because a name that was just created or replaced may not be
// visible yet.
std::shared_ptr<File> open_first(Store& store, const std::string& path, const SharedMode& mode,
                                 const Striping& wanted, FileSystemTraits& traits);
std::shared_ptr<File> open_next(Store& store, const std::string& path, const SharedMode& mode,
                                bool needs_revalidation);

}  // namespace sheaf::mpiio
