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

namespace sheaf {

// Returns a store for the operating system's files and striped ones; each call selects the store by its path.
// `sfio:` names use the running session of I/O listeners. Without a session, this task accesses the subfiles
// itself (direct_link.hpp; SHEAF_SFIO_ROOT). Relative names count from the current directory of each call.
// Lives until exit.
SHEAF_EXPORT Store& any_store();

// Returns such a store with relative names that count from the directory that is current now, like
// posix_store_here(): for files that stay open while a program runs on. This applies to subfiles that this
// task accesses itself; listeners have their own directories.
SHEAF_EXPORT std::shared_ptr<Store> any_store_here();

// Returns the store for `path` and for names that begin with it: any_store() if it is absolute, else
// any_store_here().
SHEAF_EXPORT std::shared_ptr<Store> any_store_for(const std::string& path);

namespace sfio {

// The store refuses paths that are no `sfio:` names.
SHEAF_EXPORT std::shared_ptr<Store> make_striped_store(std::shared_ptr<Link> link);

// Sets the store for `sfio:` names; null: no session.
SHEAF_EXPORT void set_session_store(std::shared_ptr<Store> store);

}  // namespace sfio
}  // namespace sheaf
