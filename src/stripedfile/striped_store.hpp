// stripedfile/striped_store: striped files as files of a Store, under the names "sfio:[unit=BYTES;]host,path;host,path;...".
//
// What works on a Store works on striped files: multifiles, MPI-IO, tools. A name should end in a semicolon, since programs
// append to names: the suffix then goes to every subfile.
#pragma once

#include <memory>
#include <string>

#include "base/export.hpp"
#include "storage/store.hpp"
#include "stripedfile/link.hpp"

namespace sheaf {

// The store for a path: the operating system's, or for `sfio:` names that of the running session of I/O listeners; without a
// session, one in which this task reaches the subfiles itself (direct_link.hpp; SHEAF_SFIO_ROOT). Lives until exit or the end
// of the session.
SHEAF_EXPORT std::shared_ptr<Store> store_for(const std::string& path);

// Both at once: every call goes to the store that its path asks for when it is made. For programs' paths, which may be
// either. Lives until exit.
SHEAF_EXPORT Store& any_store();

namespace sfio {

// Any path that is no `sfio:` name goes to `others`, which must outlive the store; null: refused.
SHEAF_EXPORT std::shared_ptr<Store> make_striped_store(std::shared_ptr<Link> link, Store* others);

// What store_for() answers with from now on; null: no session.
SHEAF_EXPORT void set_session_store(std::shared_ptr<Store> store);

// The link without a session. One for the process.
SHEAF_EXPORT std::shared_ptr<Link> own_link();

}  // namespace sfio
}  // namespace sheaf
