// multifile/saves/begin_save: the collective parts of a save in the background: its open and its close.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/export.hpp"
#include "comm/comm.hpp"
#include "multifile/journal/ownership.hpp"
#include "multifile/options/open_mode.hpp"
#include "multifile/saves/process_saves.hpp"
#include "multifile/writer/opened_set.hpp"
#include "storage/background/background_store.hpp"

namespace sheaf::saves {

// What an open for writing finds of earlier saves under its name. Only the lead, the first task, looks.
struct EarlierSave {
  std::shared_ptr<SavePart> pending = nullptr;  // to be committed first; null: none
  std::shared_ptr<SavePart> failed = nullptr;   // begin_save() removes its files
  bool skips = false;                           // the new save is to be discarded
};

// Decides what an open of `path` for writing does about earlier saves of this process: waits for a pending
// one, skips or queues (AsyncMode). Local; the lead calls it before it acquires the name. If a save has
// failed and the program does not know it, throws its error, once. Removes the files of failed saves.
SHEAF_EXPORT EarlierSave await_earlier(ProcessSaves& saves, Store& store, const std::string& path,
                                       const multifile::OpenMode& mode);

// A save between its open and its close.
struct BegunSave {
  std::shared_ptr<BackgroundStore> store;  // for the files of the multifile
  std::unique_ptr<Comm> host_tasks;        // the tasks of this host
  ProcessSaves* saves = nullptr;
  int32_t host = 0, hosts = 1;
  bool skips = false;
  bool is_local = false;
  multifile::AsyncMode how;
  std::string path, temporary;
  std::shared_ptr<SavePart> after;  // at the lead
};

// Names of a multifile that is saved.
struct SaveNames {
  std::string path;       // final
  std::string temporary;  // until the commit
};

// Begins a save at the open of a multifile. `earlier` counts at the lead. Removes the files of an earlier
// save that has failed. Collective; throws on all tasks alike.
SHEAF_EXPORT std::unique_ptr<BegunSave> begin_save(Comm& comm, ProcessSaves& saves,
                                                   std::shared_ptr<Store> files,
                                                   const multifile::OpenMode& mode, const SaveNames& names,
                                                   const EarlierSave& earlier);

// Lets compressed streams of the multifile be compressed after its close. Call after its open. Collective.
SHEAF_EXPORT void capture_frames(multifile::Writer& writer, const BegunSave& begun);

// Closes the multifile, captures its save and begins the work in the background. `ownership` is that of the
// lead. If the work needs the writer, takes it by `release`. Collective; throws on all tasks alike, and then
// removes the files.
SHEAF_EXPORT std::shared_ptr<TaskSave> close_captured(
    BegunSave& begun, multifile::Writer& writer, std::shared_ptr<multifile::Ownership> ownership,
    const std::function<std::unique_ptr<multifile::Writer>()>& release);

// Gives the save up, and removes its files. Local; each task calls it.
SHEAF_EXPORT void give_up(BegunSave& begun, int32_t nfiles);

}  // namespace sheaf::saves
