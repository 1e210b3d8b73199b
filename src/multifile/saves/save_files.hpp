// multifile/saves/save_files: the files of a pending save: its physical files under temporary names, and the
// records of its hosts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/export.hpp"
#include "format/save_record.hpp"
#include "storage/file.hpp"

namespace sheaf::saves {

// Returns true if all tasks of the host have reached `state`, and none has failed.
bool all_reached(const format::SaveRecord& record, format::SaveProgress state);
// Returns the error of the host or of one of its tasks, if any has failed.
std::optional<Error> failure_in(const format::SaveRecord& record, const std::string& path);

// Completes the files of a host: writes their marks and makes them durable. Can be repeated. Throws the
// errors of the store.
void complete_files(Store& store, const std::string& temporary,
                    const std::vector<format::CompletionMark>& marks);

// Commits a save with all files complete, so that it survives a loss of power. Can be repeated, also after a
// failure in the middle. Throws what commit_set() throws.
struct CommitNames {
  std::string path, temporary;
  int32_t nfiles = 1;
  format::Identity identity{};
};
void commit_save(Store& store, const CommitNames& names);
// Returns the identity of the generation under the name `path`, also if its commit has only begun; zeros if
// there is none, and nullopt if it cannot be read. Never throws.
std::optional<format::Identity> identity_under(Store& store, const std::string& path);
// Returns true if the commit has begun: the generation has its name, or a commit record leads to it. Never
// throws.
bool has_begun_commit(Store& store, const CommitNames& names);

// Removes the records of `hosts` hosts, that of host 0 last. Never throws.
void remove_records(Store& store, const std::string& temporary, int32_t hosts);
// Removes a save that will not be committed. Never throws.
void remove_save(Store& store, const std::string& temporary, int32_t nfiles, int32_t hosts);

// Returns the temporary names of the saves of `path` that have a record of host 0.
std::vector<std::string> saves_beside(Store& store, const std::string& path);

// Resumes the saves of `path` that jobs have left: commits the one with all its bytes on disk, if any, and
// removes the others. The caller owns the name, and the jobs have ended. Returns true if it has committed
// one. Throws the errors of a commit.
SHEAF_EXPORT bool resume_saves(Store& store, const std::string& path);

}  // namespace sheaf::saves
