// creation/commit: `atomic`: a multifile is written under a temporary name and gets its own when the close
// has succeeded on all tasks (docs/format.md, section 20). What a program that dies leaves behind is finished
// by the next writer, or listed, finished or removed by `sheaf leftovers`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "generation/generation.hpp"
#include "storage/store.hpp"

namespace sheaf {

// The temporary name with this number of physical file 0 for a multifile to be called `path`: beside the file
// that symbolic links in its place lead to. Throws invalid_argument if it would be too long.
std::string temporary_name(Store& store, const std::string& path, uint64_t number);
// The same with a random number, different at each call.
std::string new_temporary_name(Store& store, const std::string& path);

// Throws invalid_argument unless a set of so many physical files can be committed: several need identities,
// which multifiles with longer names than format::longest_extended_name do not have.
void require_committable(std::string_view stored_name, int32_t nfiles);

// Commits the complete set of `nfiles` physical files: it becomes the generation under `path`, where a reader
// finds the old one or the new one at any time. Finishes a commit that it finds there first. Files that are
// replaced leave their mode, owner and the like, and symbolic links in their places stay (Store::take_after,
// target_of). durable: returns when the generation would survive a loss of power. Throws; the generation that
// was under the name, or the new one, is there then, and the call can be repeated.
void commit_set(Store& store, const std::string& temporary, const std::string& path, int32_t nfiles,
                bool durable);

// Finishes the commit whose record is under `path`, if there is one. Returns whether there was. Several
// programs may do so at the same time. Throws damaged if the generation of the record is lost.
bool finish_commit(Store& store, const std::string& path);

// Removes the temporary files of a generation whose record was overwritten. Never throws.
void discard_generation(Store& store, const std::string& path, const format::CommitRecord& record);

}  // namespace sheaf
