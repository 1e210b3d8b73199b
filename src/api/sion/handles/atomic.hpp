// api/sion/handles/atomic: the open mode word `atomic` (multifile/create/commit), for all calls that open a
// multifile for writing from the start.
#pragma once

#include <memory>
#include <string>

#include "comm/comm.hpp"
#include "multifile/journal/ownership.hpp"
#include "multifile/options/open_mode.hpp"
#include "storage/file.hpp"

namespace sheaf::api {

struct AtomicName {
  std::string path;       // final name, taken after a successful close
  std::string temporary;  // name until then
  bool durable = false;
};

// Returns the names for an atomic open, or null if the mode lacks the word `atomic`. `named` is true if the
// caller names the physical files, which excludes `atomic`. `ownership` is the ownership of `path` on the
// first task; it may be null. Collective. If the call fails, it throws on all tasks.
std::unique_ptr<AtomicName> begin_atomic(Comm& comm, const multifile::OpenMode& mode, const std::string& path,
                                         Store& store, bool named, const multifile::Ownership* ownership);

// Gives the multifile its final name after a successful close. Collective. If the call fails, it throws on
// all tasks, and the new multifile keeps its temporary name. The call fails, for example, if another owner
// has acquired the final name.
void finish_atomic(Comm& comm, Store& store, const AtomicName& name, int32_t nfiles,
                   multifile::Ownership* ownership);

}  // namespace sheaf::api
