// multifile/create/commit: implements the open mode `atomic`. A multifile is written under a temporary name
// and renamed when the close has succeeded on all tasks (docs/format.md, section 20). If a program dies
// during the commit, the next writer of that name completes it. `sheaf leftovers` lists, completes or removes
// files that remain.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "multifile/generation/generation.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

// Returns the temporary name of physical file 0 of a multifile that will be named `path`. The name contains
// `number`. If `path` is a symbolic link, the name is in the directory of its target. Throws
// `invalid_argument` if the name would be too long.
std::string temporary_name(Store& store, const std::string& path, uint64_t number);
// Returns a temporary name with a random number, different at each call.
std::string new_temporary_name(Store& store, const std::string& path);

// Throws `invalid_argument` unless a set of `nfiles` physical files can be committed. In a set of several
// files each needs an identity, and a file can store one only if its name has at most
// format::max_extended_name bytes.
void require_committable(std::string_view stored_name, int32_t nfiles);

// Commits the complete set of `nfiles` physical files: renames them from `temporary` to `path`, where they
// become the current generation. A reader always finds either the old or the new generation. First completes
// an interrupted commit under `path`. New files get mode and owner of the files that they replace, and
// symbolic links are kept (Store::copy_attributes, target_of). If `durable` is true, returns when the
// generation would survive a loss of power. If the call throws, `path` refers to either the old or the new
// generation, and the call can be repeated.
void commit_set(Store& store, const std::string& temporary, const std::string& path, int32_t nfiles,
                bool durable);

// Completes the commit if there is a commit record under `path`. Returns true if there was one. Several
// programs may call this at the same time. Throws `damaged` if the generation of the record is lost.
bool finish_commit(Store& store, const std::string& path);

// Removes the temporary files of a generation after its record was overwritten. Never throws.
void discard_generation(Store& store, const std::string& path, const format::CommitRecord& record);

}  // namespace sheaf::multifile
