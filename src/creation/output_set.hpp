// creation/output_set: new files that appear under their final names all together, or not at all. Files that
// are replaced are so one after the other.
//
// Each file is written under a temporary name in the directory of its final one ("NAME.part", or
// "NAME.part1", ... if that exists). commit() renames them; an OutputSet that is destroyed before removes
// them. A file that a job is writing is not replaced (journal/lease). One that is replaced leaves its mode,
// owner and the like to the new one (Store::take_after), unless the name is derived and it is a link or the
// file of another user.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "journal/ownership.hpp"
#include "storage/beside.hpp"
#include "storage/store.hpp"

namespace sheaf {

// What is called `name` may be replaced by a file, or is not there. Throws invalid_argument for a directory,
// pipe or device.
FileStatus require_replaceable(Store& store, const std::string& name);

class SHEAF_EXPORT OutputSet {
 public:
  enum class Existing { refuse, replace };
  // How the outputs got their names.
  enum class Naming : uint8_t {
    given,    // by the user: symbolic links in their places stay, and lead to the new files
    derived,  // from a prefix or from contents: another user may have planted a link, which is replaced
  };

  OutputSet(Store& store, Existing existing, Naming naming = Naming::given)
      : store_(store), existing_(existing), naming_(naming) {}
  ~OutputSet();
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;

  // Owns the multifile `name`, to be called before it is added: no job writes it until this object is gone
  // (journal/ownership). Throws foreign if another one does.
  void own(const std::string& name);
  // The caller owns the outputs, or acts for their owner: no lease is looked at.
  void act_for_owner() { of_owner_ = true; }

  // What there is under `name`. Throws invalid_argument if that may not be written: it exists and may not be
  // replaced, or is no regular file; foreign if a job is known to write it.
  FileStatus check(const std::string& name) const;

  // Checks, and creates the temporary file; the caller closes what it gets before commit(). Files are
  // numbered in the order of add(). `original`: what the new file is a copy of, and takes after if it
  // replaces none; empty: nothing.
  std::shared_ptr<File> add(const std::string& name, const std::string& original = {});
  // Opens file `number` again, for writing.
  std::shared_ptr<File> reopen(size_t number) { return open_beside(store_, temporary(number), {}); }
  size_t size() const { return names_.size(); }

  // Renames all files to their final names. Watches a file if it is not known whether a job of another host
  // writes it. If a rename fails, removes the files that were renamed before, except those that have replaced
  // a file, and throws.
  void commit();

 private:
  struct Name {
    std::string final;
    std::string target;  // the name that the file gets by rename
    std::string like;    // the file to take after; empty: none
    int suffix = 0;
    bool replaces = false;  // a file of the final name was there at the rename
  };
  std::string temporary(size_t number) const;
  void refuse_written(const std::string& name, const LeaseView& view) const;
  void commit_next();
  void remove_new();  // the committed files that have replaced none
  Name described(const std::string& name, const std::string& original) const;

  Store& store_;
  const Existing existing_;
  const Naming naming_;
  std::vector<Name> names_;
  size_t committed_ = 0;
  std::shared_ptr<Ownership> ownership_;
  bool of_owner_ = false;
};

}  // namespace sheaf
