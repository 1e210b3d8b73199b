// storage/store: the only way from Sheaf to the names of the operating system's files.
//
// A Store names files by path and opens them (storage/file.hpp). It knows no task, chunk or multifile. Every
// call either does all it says or throws sheaf::Error with the path and the errno.
//
// Threads: a Store may be used from several threads.
//
// Only what calls a Store includes this header. Headers that name one, or a File, include storage/file.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "storage/file.hpp"
#include "storage/traits/traits.hpp"

namespace sheaf {

class WriteSlots;

// How a program wishes a new file to be spread over the servers of a file system; 0: as that likes.
struct Striping {
  int64_t unit = 0;   // bytes of a stripe
  int64_t count = 0;  // servers, or objects on them
  bool is_wished() const { return unit > 0 || count > 0; }
};

// How far a new file is that will take the place of another one, or be a copy of it.
enum class Making : uint8_t {
  begun,  // being written
  done,
};

class Store {
 public:
  virtual ~Store() = default;

  virtual std::shared_ptr<File> open(const std::string& path, Access access) = 0;

  // Makes the file `path` (as Access::fresh), empty and spread as wished, where the file system takes such
  // wishes from programs and there is no such file: to be opened with Access::write then. Else nothing
  // happens, and the result is false. A wish that cannot be granted is no error.
  virtual bool make_in_stripes(const std::string& /*path*/, const Striping&) { return false; }

  // Status of a path; `exists` is false if there is nothing. Throws for any other obstacle.
  virtual FileStatus status(const std::string& path) = 0;

  // Removes a file; one that does not exist is an error (not_found).
  virtual void remove(const std::string& path) = 0;

  // Renames a file, replacing `to` atomically.
  virtual void rename(const std::string& from, const std::string& to) = 0;

  // Names in a directory (empty: the current one), in no order, without those of the directory itself and the
  // one above. Throws not_found without it. None where the store cannot tell.
  virtual std::vector<std::string> names_in(const std::string& /*directory*/) { return {}; }

  // What `path` stands for now: the same text again only for the same place, whatever directory is current
  // then. For tables of open files; the path itself where names do not count from a directory.
  virtual std::string place_of(const std::string& path) { return path; }

  // The name that a new file gets by rename() to be found as `path`: where symbolic links in its place lead
  // in the end, so that they stay; else `path`.
  virtual std::string target_of(const std::string& path) { return path; }

  // Makes the file `path`, new and of this process, what `like` is to its users: mode, owner, group, access
  // control lists and extended attributes, as far as the system permits; that it does not is no error. begun:
  // nobody else may open it until done. Nothing happens where there is no `like`, or in stores whose files
  // have only bytes.
  virtual void take_after(const std::string& /*path*/, const std::string& /*like*/, Making) {}

  // What the file system does on which the file or directory `path` is, or the new file `path` will be
  // (storage/traits/traits.hpp): for one task per physical file, which tells the others. By default that of
  // memory that all tasks share. Throws not_found without the directory.
  virtual FileSystemTraits traits(const std::string& path);
  // The same of a file that this store has opened, without another look at its name, which is a message where
  // files are at a server.
  virtual FileSystemTraits traits_of(File& file) { return traits(file.path()); }

  // Returns when the name of the file `path` would survive a loss of power.
  virtual void sync_name(const std::string& path);

  // A store of what is beneath the directory `root` (storage/posix/beneath.hpp), by default for stores
  // without links. This one outlives it.
  virtual std::shared_ptr<Store> beneath(std::string root);

  // Slots for at most `count` > 0 transfers at once (storage/write_slots.hpp), shared with those who join
  // them under their name: by default inside this process, in the operating system's store on this machine.
  virtual std::shared_ptr<WriteSlots> make_slots(int count);
  virtual std::shared_ptr<WriteSlots> join_slots(const std::string& name, int count);
};

// The operating system's files. One object for the process; lives until exit.
SHEAF_EXPORT Store& posix_store();

// The same files, with relative names that count from the directory that is current at this call, whatever is
// current later: for who opens, renames or removes by name while a file is open. Keeps that directory
// (storage/working_directory.hpp). Files may outlive it.
SHEAF_EXPORT std::shared_ptr<Store> posix_store_here();

}  // namespace sheaf
