// storage/beside: files that the library makes beside one that a user has named: journals, leases, shared
// pointers.
//
// In a directory in which others may write, anything can lie where such a file belongs. So it is made with
// Access::fresh, which follows no link, and what is there already is opened by open_beside(). Its contents
// must then say that it is ours, which is the caller's business: what is not ours is neither written to nor
// removed.
#pragma once

#include <memory>
#include <string>

#include "storage/file.hpp"

namespace sheaf {

// The path whose neighbours they are: where symbolic links lead that stand for the file, so that they are
// found by whatever name the file is opened. The path itself where the links cannot be followed.
std::string place_beside(Store& store, const std::string& path);

// Opens one that exists, to read and write it. `neighbour`: path of the file it lies beside. Throws `foreign`
// unless it is a regular file, of one name, that belongs to the user of this process or to the owner of its
// neighbour (some file systems show every file as another one's); not_found; and whatever else the store
// throws.
std::shared_ptr<File> open_beside(Store& store, const std::string& path, const std::string& neighbour);

// The same for one that is made if there is none; `made` says whether this call has. Several tasks may do so
// at once.
std::shared_ptr<File> make_or_open_beside(Store& store, const std::string& path, const std::string& neighbour,
                                          bool& made);

}  // namespace sheaf
