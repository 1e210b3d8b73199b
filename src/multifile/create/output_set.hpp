// multifile/create/output_set: creates files that get their final names together, when all are complete.
// Existing files are replaced one at a time, so a failure may leave some of them replaced.
//
// Each file is written in the directory of its final name under a temporary name ("NAME.part", or
// "NAME.part1", ... if that exists). commit() renames the files; the destructor removes them if there was no
// commit. A file that a job is writing is not replaced (multifile/journal/lease). A new file gets mode, owner
// and similar attributes of the file that it replaces (Store::copy_attributes). It does not get them if the
// name is derived (Naming) and the existing file is a link or belongs to another user.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "multifile/journal/ownership.hpp"
#include "storage/beside.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

// Returns the status of `name`. Throws `invalid_argument` if it exists and is a directory, pipe or device,
// which a file must not replace.
FileStatus require_replaceable(Store& store, const std::string& name);

class SHEAF_EXPORT OutputSet {
 public:
  enum class Existing { refused, replaced };
  // Origin of the output names.
  enum class Naming : uint8_t {
    given,    // given by the user: a symbolic link with the name stays and leads to the new file
    derived,  // derived from a prefix or from contents: a link may be another user's, so it is replaced
  };

  OutputSet(Store& store, Existing existing, Naming naming = Naming::given)
      : store_(store), existing_(existing), naming_(naming) {}
  ~OutputSet();
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;

  // Takes ownership of the multifile `name` for the lifetime of this object, so that no job writes it
  // (multifile/journal/ownership). Must be called before the multifile is added. Throws `foreign` if a job
  // owns it.
  void own(const std::string& name);
  // Declares that the caller owns the outputs, or acts for their owner. Leases are then not checked.
  void act_for_owner() { of_owner_ = true; }

  // Returns the status of `name`. Throws `invalid_argument` if it is no regular file, or if it exists and
  // must not be replaced. Throws `foreign` if a job is known to write it.
  FileStatus check(const std::string& name) const;

  // Checks `name` and creates its temporary file, which the caller must close before commit(). Files are
  // numbered in the order of add(). If the new file replaces none, it gets the attributes of the file
  // `original`, or default attributes if `original` is empty.
  std::shared_ptr<File> add(const std::string& name, const std::string& original = {});
  // Opens file `number` again for writing.
  std::shared_ptr<File> reopen(size_t number) { return open_beside(store_, temporary(number), {}); }
  size_t size() const { return names_.size(); }

  // Renames all files to their final names. If a lease does not show whether a job of another host is writing
  // a file, waits until that is known. If a rename fails, removes the renamed files that have replaced no
  // file, and throws.
  void commit();

 private:
  struct OutputFile {
    std::string final;
    std::string target;  // name after following links; destination of the rename
    std::string like;    // source of the attributes; empty: none
    int suffix = 0;
    bool replaces = false;  // a file with the final name existed at the rename
  };
  std::string temporary(size_t number) const;
  void refuse_written(const std::string& name, const LeaseView& view) const;
  void commit_next();
  void remove_new();  // removes committed files that have replaced no file
  OutputFile described(const std::string& name, const std::string& original) const;

  Store& store_;
  const Existing existing_;
  const Naming naming_;
  std::vector<OutputFile> names_;
  size_t committed_ = 0;
  std::shared_ptr<Ownership> ownership_;
  bool of_owner_ = false;
};

}  // namespace sheaf::multifile
