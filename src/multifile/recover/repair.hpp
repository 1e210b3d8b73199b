// multifile/recover/repair: completes multifiles that were never closed.
//
// The journal shows how much each task had flushed and which chunks it had completed (docs/format.md, section
// 16). Without a journal, or with an empty one, repair uses the holes of the sparse file.
//
// Repair writes the block table and the mapping, syncs them and verifies them by reading them back. Then it
// writes the pointer that makes the file complete, and finally removes the journal. So an interrupted repair
// can be repeated. No other program should write the files during a repair in place (multifile/journal/lease
// shows writers). A copy may be made while a job writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "format/extension.hpp"
#include "multifile/create/work_progress.hpp"
#include "storage/file.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

struct RepairRequest {
  std::string copy_to;          // base name of a complete copy to write instead; empty: in place
  bool replace = false;         // replace existing files of that name
  bool dry_run = false;         // report only
  bool holes = false;           // use the holes even if a journal exists
  bool accept_loss = false;     // leave out bytes that were recorded but are missing in the file; else an
                                // error
  format::Identity identity{};  // for files without an identity that get marked as guessed
  bool may_live = false;  // a job may still be writing: the block table gets room for the chunks that tasks
                          // may be filling
};

enum class RepairSource : uint8_t {
  complete,  // the file is complete: nothing to do
  journal,
  none,   // no task had recorded anything and the file has no data: all streams are empty
  table,  // the block table exists, only the pointer to it was missing
  holes,
};
// Returns the source in lower case, in static storage.
SHEAF_EXPORT const char* name_of(RepairSource source);

struct RepairedFile {
  std::string path;
  RepairSource source = RepairSource::complete;
  int64_t ntasks = 0;
  int64_t blocks = 0;                // largest block count of a task
  int64_t data_bytes = 0;            // bytes of all tasks after the repair
  std::vector<std::string> unknown;  // facts that could not be determined
  bool guessed = false;              // the file is marked, because unknown facts concern its data
  int64_t guessed_ends = 0;          // number of chunks with an unknown end
};

struct SHEAF_EXPORT RepairReport {
  std::string path;
  std::vector<RepairedFile> files;
  bool was_complete() const;
};

// Repairs the multifile `path`, or writes a repaired copy. Throws `damaged` or `not_a_multifile` if META1 is
// incomplete or invalid, `damaged` if a file is shorter than its journal says, and what the store throws.
// `progress` counts the bytes of a copy. Takes a few MiB of memory for files with a journal; for other files,
// 8 bytes per chunk of the rounds that contain data.
SHEAF_EXPORT RepairReport repair(Store& store, const std::string& path, const RepairRequest& request,
                                 WorkProgress& progress);

// Returns the report of a repair that would change nothing: the multifile is complete, and no journal, lease
// or boundary blocks exist beside it. The caller then need not wait for a possible writer. Returns nullopt if
// a repair may change something.
SHEAF_EXPORT std::optional<RepairReport> report_if_complete(Store& store, const std::string& path,
                                                            RepairRequest request);

}  // namespace sheaf::multifile
