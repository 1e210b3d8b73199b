// storage/beside: files that the library creates beside a file that a user has named: journals, leases,
// boundary files, containers, shared pointers, further files of a set, buddy copies, temporary files.
//
// In a directory that others may write to, another user can plant a link, a pipe or a file under such a name.
// Therefore make_beside() creates exclusively and follows no link. open_beside() opens an existing file and
// checks its type, link count and owner. The caller checks the contents, and neither writes to nor removes a
// file with foreign contents. tests/house allows Access::fresh nowhere else.
#pragma once

#include <memory>
#include <string>

#include "storage/file.hpp"

namespace sheaf {

// Returns the path from which the names of files beside `path` are built: the final target of symbolic links.
// So all names of a file lead to the same files beside it. Returns `path` itself if the links cannot be
// followed.
std::string place_beside(Store& store, const std::string& path);

// Creates `path` for reading and writing. Throws the errors of the store: io with errno EEXIST if the name
// exists, even as a dangling link.
std::shared_ptr<File> make_beside(Store& store, const std::string& path);

// Opens an existing file for reading and writing. Throws `foreign` unless it is a regular file without other
// names and with an accepted owner. Accepted owners are the user of this process and the owner of
// `neighbour`, the file beside which `path` lies. If `neighbour` is empty, only the user of this process
// writes the file. Another owner is then accepted only if the file system reports that owner for new files of
// this process, too. Throws not_found, and the errors of the store.
std::shared_ptr<File> open_beside(Store& store, const std::string& path, const std::string& neighbour);

// Like open_beside(), but creates the file if it is missing. Sets `made` to true if this call has created it.
// Several tasks may call it at once.
std::shared_ptr<File> make_or_open_beside(Store& store, const std::string& path, const std::string& neighbour,
                                          bool& made);

}  // namespace sheaf
