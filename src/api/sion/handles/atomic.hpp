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

// Returns the names for an atomic open; null if the mode has no such word. `named`: the caller names the
// physical files, which cannot be combined with `atomic`. `ownership`: of `path`, on the first task; may be
// null. Collective. Throws on all tasks alike.
std::unique_ptr<AtomicName> begin_atomic(Comm& comm, const OpenMode& mode, const std::string& path,
                                         Store& store, bool named, const Ownership* ownership);

// Gives the multifile its final name after a successful close. Throws on all tasks alike, also if another
// owner has taken the name; the new multifile keeps its temporary name then. Collective.
void finish_atomic(Comm& comm, Store& store, const AtomicName& name, int32_t nfiles, Ownership* ownership);

}  // namespace sheaf::api
