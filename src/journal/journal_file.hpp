// journal/journal_file: the journal of a physical file as a file beside it: how it is made, opened and
// removed.
//
// Whatever else has the name of a journal is left as it is (storage/beside.hpp). An empty file is a journal
// that somebody is about to begin: all tasks write the same header.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "format/extension.hpp"
#include "format/header.hpp"
#include "format/journal.hpp"
#include "journal/chunk_watch.hpp"
#include "storage/file.hpp"

namespace sheaf {

// Of the tasks that write a physical file.
struct Hosts {
  int32_t mine = 0;
  int32_t count = 1;
};

// What ties a journal to its physical file. Every task knows it from the open, so that nobody reads what
// another one wrote.
struct JournalKey {
  format::Identity identity{};  // zeros: the file has none, and so no journal
  int32_t ntasks = 0;
  int32_t nfiles = 1;
  int32_t filenumber = 0;
  int32_t fsblksize = 0;  // bytes
  Hosts hosts = {};
  // Hosts of the program have page caches of their own: what outlives one is at the server
  bool own_caches = false;
  bool first = true;  // of the tasks of the file. The mark in META1 is its: where there are other hosts their
                      // tasks leave it alone
  bool required = false;        // nothing is written where no journal is admitted
  ChunkWatch* watch = nullptr;  // told before a chunk is begun, and before the first record; null: nobody

  static JournalKey of(const format::Header& h, const std::optional<format::Extension>& extension) {
    return {.identity = extension ? extension->identity : format::Identity{},
            .ntasks = h.ntasks,
            .nfiles = h.nfiles,
            .filenumber = h.filenumber,
            .fsblksize = h.fsblksize};
  }
  bool has_identity() const { return identity != format::Identity{}; }
  bool may_mark() const { return first || hosts.count == 1; }
  format::JournalHeader header() const;
  // In the physical file.
  int64_t pointer_offset() const { return format::HeaderFields{.ntasks = ntasks}.pointer_offset(); }
};

// The path beside which journals and edges of `physical_file` are: where its links lead, unless there are
// none and those beside the link itself are there, which earlier versions made.
std::string place_of_journals(Store& store, const std::string& physical_file);

// The journal of `physical_file` for the host of `header`, with its header; one that an earlier file of that
// name has left is made the own. Of several hosts each has its own, and NAME.journal says so. changed: the
// header was written. Throws `foreign` for what is no journal, or not the user's, and what the store throws.
std::shared_ptr<File> open_journal(Store& store, const std::string& physical_file,
                                   const format::JournalHeader& header, bool& changed);

// Makes NAME.journal of a file that several hosts write, if nobody has yet. Throws as open_journal().
void announce_hosts(Store& store, const std::string& physical_file, format::JournalHeader header);

// Throws `foreign` if `data`, a physical file that this program is writing, was made complete by somebody
// else. `before`: the pointer of a complete file that is appended to.
void require_unfinished(File& data, int64_t pointer_offset, const format::Pointer& before = {});

// A task has gone on without the journal of its host, and cannot mark the physical file. Never throws.
void note_journal_gap(Store& store, const std::string& physical_file);
// After the repair of the file. Never throws.
void remove_journal_gap(Store& store, const std::string& physical_file);

// For a new file that several hosts will write, before they do: they do not look whether a journal is that of
// an earlier one. Throws if it cannot be told whether there is one.
void remove_earlier_journals(Store& store, const std::string& physical_file, int32_t hosts);

// Removes the journals of a file that is complete; those of `identity` only, if one is given. One that stays
// behind does no harm: nobody reads the journal of a complete file, and records belong to one file only. So
// nothing is thrown.
void remove_journal(Store& store, const std::string& physical_file,
                    const std::optional<format::Identity>& identity = {}, int32_t hosts_of_writers = 1);

// The same for a file that was not closed, or whose name is used again: also what its hosts have kept beside
// it.
void remove_leftovers(Store& store, const std::string& physical_file,
                      const std::optional<format::Identity>& identity = {}, int32_t hosts_of_writers = 1);

}  // namespace sheaf
