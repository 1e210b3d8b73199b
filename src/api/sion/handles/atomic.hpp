// api/sion/handles/atomic: the open mode word `atomic` (creation/commit), for all calls that open a
// multifile to write it anew.
#pragma once

#include <memory>
#include <string>

#include "comm/comm.hpp"
#include "journal/ownership.hpp"
#include "mode/open_mode.hpp"
#include "storage/file.hpp"

namespace sheaf::api {

struct AtomicName {
  std::string path;       // that the multifile gets when its close has succeeded
  std::string temporary;  // until then
  bool durable = false;
};

// Collective. Null without the word. Throws on all tasks alike. named: physical files have names of the
// caller's, which cannot be combined. ownership: of `path`, at the first task; null: there is none.
std::unique_ptr<AtomicName> begin_atomic(Comm& comm, const OpenMode& mode, const std::string& path,
                                         Store& store, bool named, const Ownership* ownership);

// Collective, after the close has succeeded. Throws on all tasks alike, also if the name is another owner's
// by now: the new multifile keeps its temporary name then.
void finish_atomic(Comm& comm, Store& store, const AtomicName& name, int32_t nfiles, Ownership* ownership);

}  // namespace sheaf::api
