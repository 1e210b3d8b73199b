// storage/store: the only way from Sheaf to the names of the operating system's files.
//
// A Store names files by path and opens them (storage/file.hpp). It has no notion of tasks, chunks or
// multifiles. Every call either succeeds completely or throws sheaf::Error with the path and the errno.
//
// Threads: a Store may be used from several threads.
//
// Only code that calls a Store includes this header. Headers that name a Store or a File include
// storage/file.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "storage/file.hpp"
#include "storage/filesystem/traits.hpp"

namespace sheaf {

class WriteSlots;

// Requested striping of a new file; 0 selects the file system's default.
struct Striping {
  int64_t unit = 0;   // bytes of a stripe
  int64_t count = 0;  // servers, or objects on them
  bool is_wished() const { return unit > 0 || count > 0; }
};

// Where a file is stored, for the choice of the hosts that access it.
struct FilePlacement {
  // The file system serves one client of the file at a time; requests of other clients wait.
  bool one_client = false;
  std::string host;  // name of the only host that stores the file; empty: unknown, or several
};

// State of a replacement file, or of a copy of a file.
enum class ReplaceState : uint8_t {
  begun,  // being written
  done,
};

class Store {
 public:
  virtual ~Store() = default;

  virtual std::shared_ptr<File> open(const std::string& path, Access access) = 0;

  // Creates the empty file `path` (as Access::fresh) with the requested striping, to be opened with
  // Access::write. Returns false, and creates nothing, if the file system does not let programs choose the
  // striping or if the file exists. If the file system cannot grant the striping, it chooses another one,
  // which is no error.
  virtual bool make_in_stripes(const std::string& /*path*/, const Striping&) { return false; }

  // Returns the status of a path; `exists` is false if there is no such file. Throws for any other obstacle.
  virtual FileStatus status(const std::string& path) = 0;

  // Removes a file. Throws not_found if it does not exist.
  virtual void remove(const std::string& path) = 0;

  // Renames a file, replacing `to` atomically.
  virtual void rename(const std::string& from, const std::string& to) = 0;

  // Returns the names in a directory (empty: the current one), in no particular order, without "." and "..".
  // Throws not_found if there is no such directory. Stores that cannot list names return none.
  virtual std::vector<std::string> names_in(const std::string& /*directory*/) { return {}; }

  // Returns the canonical path, for tables of open files: equal results denote the same file name, even if
  // the current directory changes in between. Returns `path` itself if names do not depend on a current
  // directory.
  virtual std::string place_of(const std::string& path) { return path; }

  // Returns the name to which rename() must move a new file that replaces `path`. This is the final target of
  // symbolic links, so that the links stay; without links, it is `path`.
  virtual std::string target_of(const std::string& path) { return path; }

  // Copies the attributes of `like` to the file `path`, which this process has just created: mode, owner,
  // group, access control lists and extended attributes. Attributes that the system refuses are skipped
  // without an error. With ReplaceState::begun, no other user can open the file until ReplaceState::done. No
  // effect if `like` does not exist, or in stores without attributes.
  virtual void copy_attributes(const std::string& /*path*/, const std::string& /*like*/, ReplaceState) {}

  // Returns the traits (storage/filesystem/traits.hpp) of the file system that holds the file or directory
  // `path`, or will hold the new file `path`. One task per physical file calls it and sends the result to the
  // others. The default describes memory that all tasks share. Throws not_found if there is no such
  // directory.
  virtual FileSystemTraits traits(const std::string& path);
  // Returns the traits for a file that this store has opened. Does not look up the name of the file again,
  // because that costs a message if the file is on a server.
  virtual FileSystemTraits traits_of(File& file) { return traits(file.path()); }

  // Returns the placement of a file that this store has opened, on a file system of this kind. One task calls
  // it and sends the result to the others. Unknown by default.
  virtual FilePlacement placement_of(File& /*file*/, FileSystem /*kind*/) { return {}; }
  // Returns true if FilePlacement::host names the host of this task.
  virtual bool is_host(const std::string& name);

  // Makes the name of the file `path` durable, so that it survives a power failure.
  virtual void sync_name(const std::string& path);

  // Returns a store of the files beneath the directory `root` (storage/posix/beneath.hpp). The default
  // implementation is for stores without links. This store must outlive the result.
  virtual std::shared_ptr<Store> beneath(std::string root);

  // Create, or join by name, slots for at most `count` > 0 concurrent transfers (storage/write_slots.hpp). By
  // default, the tasks of this process share the slots; in the operating system's store, all tasks of this
  // host share them.
  virtual std::shared_ptr<WriteSlots> make_slots(int count);
  virtual std::shared_ptr<WriteSlots> join_slots(const std::string& name, int count);
};

// Returns the store of the operating system's files. There is one object per process, which lives until exit.
SHEAF_EXPORT Store& posix_store();

// Returns a store of the same files in which relative names count from the directory that is current at this
// call, even if the current directory changes later. Suits callers that open, rename or remove by name while
// a file is open. The store keeps that directory open (storage/working_directory.hpp). Files may outlive the
// store.
SHEAF_EXPORT std::shared_ptr<Store> posix_store_here();

}  // namespace sheaf
