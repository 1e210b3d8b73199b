// multifile/writer/placed_open: steps shared by the opens in which a process has any number of tasks, at
// places of the caller's choice.
#pragma once

#include <functional>
#include <memory>

#include "multifile/writer/open_to_write.hpp"
#include "multifile/writer/opened_set.hpp"
#include "storage/write_slots.hpp"

namespace sheaf::multifile {

// Creates the files and places the tasks of `request`. `set` has PlacedTables and no tasks yet. Collective.
void open_placed(OpenedSet& set, const MappedWriteRequest& request, const OpenMode& mode);
// Opens the files of this process that are not open yet. Calls wrap() for each, which adds decorators to the
// file. On a process without files, binds the stream to file 0. `slots` is null if there is no limit.
// Collective.
void open_own_files(OpenedSet& set, const std::shared_ptr<WriteSlots>& slots,
                    const std::function<void(OwnFile&)>& wrap);

}  // namespace sheaf::multifile
