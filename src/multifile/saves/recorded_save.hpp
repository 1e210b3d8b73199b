// multifile/saves/recorded_save: a save of which this process is no part, as records and files show it.
#pragma once

#include <memory>
#include <string>

#include "base/export.hpp"
#include "multifile/saves/process_saves.hpp"
#include "multifile/saves/save.hpp"
#include "storage/file.hpp"

namespace sheaf::saves {

// Returns the newest save of `path`: the part of this process, or that of another job, or the complete
// multifile. Throws not_found if there is none.
SHEAF_EXPORT std::shared_ptr<TaskSave> find_save(ProcessSaves& saves, std::shared_ptr<Store> store,
                                                 const std::string& path);

}  // namespace sheaf::saves
