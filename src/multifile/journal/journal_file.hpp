// multifile/journal/journal_file: creates, opens and removes the journal file beside a physical file.
//
// A foreign file with the name of a journal is left unchanged (storage/beside.hpp). An empty file counts as a
// journal whose header another task is about to write. All tasks write the same header, so each of them may
// complete it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/extension.hpp"
#include "format/header.hpp"
#include "format/journal.hpp"
#include "layout/chunk_layout.hpp"
#include "multifile/journal/chunk_watch.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

// The number of this task's host, and the count of hosts with tasks that write the physical file.
struct JournalHosts {
  int32_t mine = 0;
  int32_t count = 1;
};

// Identifies the physical file of a journal. Every task knows these values from the open, so no task has to
// read what a different task wrote.
struct JournalKey {
  // Called before a chunk is begun and before the first record; null: no callback.
  ChunkWatch* watch = nullptr;
  format::Identity identity{};  // zeros: the file has no identity and therefore no journal
  int32_t ntasks = 0;
  int32_t nfiles = 1;
  int32_t filenumber = 0;
  int32_t fsblksize = 0;  // bytes
  JournalHosts hosts = {};
  // The program's hosts have separate page caches: only published bytes survive the loss of a host.
  bool own_caches = false;
  // This task is the first of the file. If several hosts write the file, only the first task sets the mark in
  // META1.
  bool first = true;
  bool required = false;  // write nothing if no journal can be created

  static JournalKey of(const format::Header& h, const std::optional<format::Extension>& extension) {
    return {.identity = extension ? extension->identity : format::Identity{},
            .ntasks = h.ntasks,
            .nfiles = h.nfiles,
            .filenumber = h.filenumber,
            .fsblksize = h.fsblksize};
  }
  bool has_identity() const { return identity != format::Identity{}; }
  bool may_mark() const { return first || hosts.count == 1; }
  format::JournalHeader header() const {
    return {identity,    ntasks,
            nfiles,      filenumber,
            fsblksize,   layout::data_start(ntasks, fsblksize),
            hosts.count, hosts.count > 1 ? hosts.mine : format::no_journal_host};
  }
  // Returns the offset of the pointer in the physical file.
  int64_t pointer_offset() const { return format::HeaderFields{.ntasks = ntasks}.pointer_offset(); }
};

// Returns the path beside which the journals and boundary blocks of `physical_file` are. This is the target
// of its symbolic links, or the link itself if a journal exists only there: earlier versions of the library
// placed journals beside the link.
std::string place_of_journals(Store& store, const std::string& physical_file);

// Returns the bytes of the header of a journal, or as many of them as exist.
std::vector<std::byte> read_journal_head(File& file);

// Opens the journal of `physical_file` for the host in `header`, and writes the header if necessary. Reuses a
// journal that an earlier file of that name has left. If several hosts write the file, each has its own
// journal, and NAME.journal records their number. Sets `changed` to true if the journal was created or its
// header written. Throws `foreign` if the file is no journal or belongs to another user, and what the store
// throws.
std::shared_ptr<File> open_journal(Store& store, const std::string& physical_file,
                                   const format::JournalHeader& header, bool& changed);

// Creates NAME.journal of a file that several hosts write, unless it exists. Throws as open_journal().
void announce_hosts(Store& store, const std::string& physical_file, format::JournalHeader header);

// Throws `foreign` if a different program has completed `data`, a physical file that this program is writing.
// If this program appends to a complete file, `before` is the pointer that the file had before the append.
void require_unfinished(File& data, int64_t pointer_offset, const format::Pointer& before = {});

// Creates NAME.journal.gap. It shows readers that a task, which cannot mark the physical file, continues
// without the journal of its host. Never throws.
void note_journal_gap(Store& store, const std::string& physical_file);
// Removes NAME.journal.gap after the file was repaired. Never throws.
void remove_journal_gap(Store& store, const std::string& physical_file);

// Removes journals of an earlier file with this name. Must be called before several hosts write a new file,
// because they do not check for stale journals. Throws if it cannot determine whether such journals exist.
void remove_earlier_journals(Store& store, const std::string& physical_file, int32_t hosts);

// Removes the journals of a complete file. If `identity` is given, removes only journals with that identity.
// If several hosts wrote the file, also removes NAME.journal.gap. Never throws. A remaining journal does no
// harm: readers ignore the journal of a complete file, and records are tied to one file.
void remove_journal(Store& store, const std::string& physical_file,
                    const std::optional<format::Identity>& identity = {}, int32_t hosts_of_writers = 1);

// Removes the journals and the boundary blocks that hosts keep beside a physical file. Called for a file that
// was never closed, and before a name is reused. The parameters are those of remove_journal(). Never throws.
void remove_leftovers(Store& store, const std::string& physical_file,
                      const std::optional<format::Identity>& identity = {}, int32_t hosts_of_writers = 1);

}  // namespace sheaf::multifile
