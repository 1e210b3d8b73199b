// storage/beside: every file that the library creates beside one that a user has named: journals, leases,
// boundary files, containers, shared pointers, further files of a set, buddy copies, temporary files.
//
// In a directory that others may write to, another user can plant a link, a pipe or a file under the name. So
// make_beside() creates exclusively and follows no link, and an existing file is opened by open_beside(),
// which checks type, link count and owner. The caller checks the contents, and neither writes to nor removes
// a file whose contents are not its own. tests/house allows Access::fresh nowhere else.
#pragma once

#include <memory>
#include <string>

#include "storage/file.hpp"

namespace sheaf {

// The path whose neighbours they are: where symbolic links lead that stand for the file, so that they are
// found by whatever name the file is opened. The path itself where the links cannot be followed.
std::string place_beside(Store& store, const std::string& path);

// Creates `path`, to read and write it. Throws what the store throws, with errno EEXIST if the name exists,
// also as a dangling link.
std::shared_ptr<File> make_beside(Store& store, const std::string& path);

// Opens an existing file, to read and write it. Throws `foreign` unless it is a regular file with one name
// that belongs to the user of this process or to the owner of `neighbour`, the file it lies beside. An empty
// `neighbour` stands for a file that only its own user writes: then another owner is accepted only if the
// file system shows new files of this process as that owner's. Throws not_found, and what the store throws.
std::shared_ptr<File> open_beside(Store& store, const std::string& path, const std::string& neighbour);

// The same for one that is made if there is none; `made` says whether this call has. Several tasks may do so
// at once.
std::shared_ptr<File> make_or_open_beside(Store& store, const std::string& path, const std::string& neighbour,
                                          bool& made);

}  // namespace sheaf
