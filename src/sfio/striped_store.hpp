// sfio/striped_store: striped files as files of a Store, under names
// "sfio:[unit=BYTES;]host,path;host,path;...".
//
// All users of a Store can use striped files: multifiles, MPI-IO, tools. A name should end with a semicolon,
// since programs append to names: the suffix is then appended to every subfile.
#pragma once

#include <memory>
#include <string>

#include "base/export.hpp"
#include "sfio/link.hpp"
#include "storage/file.hpp"

namespace sheaf::sfio {

// Returns a store for the operating system's files and striped ones; each call selects the store by its path.
// `sfio:` names use the running session of I/O listeners. Without a session, this task accesses the subfiles
// itself (direct_link.hpp; SHEAF_SFIO_ROOT). Relative names count from the current directory of each call.
// Lives until exit.
SHEAF_EXPORT Store& any_store();

// Returns a store like any_store() in which relative names count from the directory that is current at this
// call (posix_store_here()). It suits files that stay open while the program changes its directory. The same
// holds for subfiles that this task accesses itself; listeners have directories of their own.
SHEAF_EXPORT std::shared_ptr<Store> any_store_here();

// Returns the store for `path` and for names that begin with it: any_store() if it is absolute, else
// any_store_here().
SHEAF_EXPORT std::shared_ptr<Store> any_store_for(const std::string& path);

// Returns a store of striped files. It refuses paths that are no `sfio:` names.
SHEAF_EXPORT std::shared_ptr<Store> make_striped_store(std::shared_ptr<Link> link);

// Sets the store that any_store() uses for `sfio:` names; null if no session runs.
SHEAF_EXPORT void set_session_store(std::shared_ptr<Store> store);

}  // namespace sheaf::sfio
