// api/sion/handles/atomic: the open mode word `atomic` (creation/temporary_name), for all calls that open a
// multifile to write it anew.
#pragma once

#include <memory>
#include <string>

#include "comm/comm.hpp"
#include "mode/open_mode.hpp"
#include "storage/store.hpp"

namespace sheaf::api {

struct AtomicName {
  std::string path;       // that the multifile gets when its close has succeeded
  std::string temporary;  // until then
  Store* store = nullptr;
  int32_t nfiles = 1;
  bool durable = false;

  // Of a physical file as it will be called.
  std::string later(const std::string& name) const;
};

// Collective. Null without the word. Throws on all tasks alike. named: physical files have names of the
// caller's, which cannot be combined.
std::unique_ptr<AtomicName> begin_atomic(Comm& comm, const OpenMode& mode, const std::string& path,
                                         Store& store, bool named);

// Collective, after the close has succeeded. Throws on all tasks alike.
void finish_atomic(Comm& comm, const AtomicName& name);

}  // namespace sheaf::api
