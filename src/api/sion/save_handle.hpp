// api/sion/save_handle: the object behind a sheaf_save.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/export.hpp"
#include "multifile/saves/save.hpp"

struct sheaf_save {
  std::shared_ptr<sheaf::saves::TaskSave> save;
  std::once_flag described;
  std::string error;  // set once
};

namespace sheaf::api {

// Waits until the save has reached `state`. Returns 1, or 0 if it was skipped. Throws its failure, and
// invalid_argument.
SHEAF_EXPORT int wait_for_save(sheaf_save& handle, int state);

}  // namespace sheaf::api
