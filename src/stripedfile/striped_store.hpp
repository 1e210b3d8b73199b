// stripedfile/striped_store: striped files as files of a Store, under the names
// "sfio:[unit=BYTES;]host,path;host,path;...".
//
// What works on a Store works on striped files: multifiles, MPI-IO, tools. A name should end in a semicolon,
// since programs append to names: the suffix then goes to every subfile.
#pragma once

#include <memory>
#include <string>

#include "base/export.hpp"
#include "storage/file.hpp"
#include "stripedfile/link.hpp"

namespace sheaf {

// The operating system's files and striped ones: every call goes to the store that its path asks for when it
// is made. `sfio:` names go to the running session of I/O listeners; without a session, this task reaches the
// subfiles itself (direct_link.hpp; SHEAF_SFIO_ROOT). Relative names count from the directory that is current
// at each call. Lives until exit.
SHEAF_EXPORT Store& any_store();

// The same, with relative names that count from the directory that is current now, as those of
// posix_store_here(): for what is open while a program runs on. That holds for subfiles that this task
// reaches itself; listeners have directories of their own.
SHEAF_EXPORT std::shared_ptr<Store> any_store_here();

// The same for who uses `path`, and names that begin with it: any_store() if it is absolute.
SHEAF_EXPORT std::shared_ptr<Store> any_store_for(const std::string& path);

namespace sfio {

// Any path that is no `sfio:` name is refused.
SHEAF_EXPORT std::shared_ptr<Store> make_striped_store(std::shared_ptr<Link> link);

// Where `sfio:` names go from now on; null: no session.
SHEAF_EXPORT void set_session_store(std::shared_ptr<Store> store);

}  // namespace sfio
}  // namespace sheaf
