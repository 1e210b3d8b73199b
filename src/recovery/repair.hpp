// recovery/repair: makes multifiles that were never closed complete, ordinary ones.
//
// What each task had flushed, and the chunks it had completed, is told by the journal (docs/format.md,
// section 16); without one, or where nobody had told anything, by the holes of the sparse file, as far as
// they go. Order on disk: block table and mapping, sync, a look at what is there now, then the pointer that
// makes the file complete, then the journal goes; so a repair that is killed can be started again. Nobody
// else should write to the files meanwhile (journal/lease tells), but copies may be made while a job does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "creation/work_progress.hpp"
#include "format/extension.hpp"
#include "storage/file.hpp"
#include "storage/store.hpp"

namespace sheaf {

struct RepairRequest {
  std::string copy_to;          // base name of a complete copy to write instead; empty: in place
  bool replace = false;         // files of that name that exist
  bool dry_run = false;         // only find out
  bool holes = false;           // go by the holes although there is a journal
  bool accept_loss = false;     // what was recorded and is not in the file is left out; else that is an error
  format::Identity identity{};  // for files without one that are marked as guessed
  bool may_live = false;  // somebody may be writing all the same: the block table leaves room for the chunks
                          // that tasks may be in
};

enum class RepairSource : uint8_t {
  complete,  // nothing to do
  journal,
  nothing,  // no task had anything to tell, and no data are in the file: all are empty
  table,    // the block table was there, only the pointer to it was missing
  holes,
};
// Lower-case name. Static storage.
SHEAF_EXPORT const char* name_of(RepairSource source);

struct RepairedFile {
  std::string path;
  RepairSource source = RepairSource::complete;
  int64_t ntasks = 0;
  int64_t blocks = 0;                // largest number of a task
  int64_t data_bytes = 0;            // that the tasks have now
  std::vector<std::string> unknown;  // what could not be told
  bool guessed = false;              // the file is marked: what could not be told concerns its data
  int64_t guessed_ends = 0;          // chunks whose end is not known
};

struct SHEAF_EXPORT RepairReport {
  std::string path;
  std::vector<RepairedFile> files;
  bool was_complete() const;
};

// Throws damaged and not_a_multifile for what is no (whole) META1, damaged for a file that is shorter than
// its journal says, and whatever the store throws. Progress: the bytes of a copy. Memory: of files with a
// journal a few MiB, of others 8 bytes per chunk of the rounds in which there is something.
SHEAF_EXPORT RepairReport repair(Store& store, const std::string& path, const RepairRequest& request,
                                 WorkProgress& progress);

// The report of a multifile that is complete and has nothing beside it but its members: nobody who may be
// about to write it needs to be waited for, since a repair does nothing. nullopt: it may do something.
SHEAF_EXPORT std::optional<RepairReport> report_if_complete(Store& store, const std::string& path,
                                                            RepairRequest request);

}  // namespace sheaf
