// multifile/create/new_set: creates the physical files of one new multifile. The files appear under its name
// as one generation (docs/format.md, section 20), or not at all.
//
// Each file is written under a temporary name. commit() renames the files; the destructor removes them if
// there was no commit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "format/extension.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

class NewSet {
 public:
  // `path` is the name of the multifile, which the caller must own (multifile/journal/ownership). New files
  // that replace no file get mode, owner and similar attributes of the file `original`.
  NewSet(Store& store, std::string path, std::string original);
  ~NewSet();
  NewSet(const NewSet&) = delete;
  NewSet& operator=(const NewSet&) = delete;

  // Creates the next physical file. The caller must close it before commit().
  std::shared_ptr<File> add();

  // Renames the files, which must all have this `identity`. Returns when the multifile would survive a loss
  // of power. If the call throws, the name refers to either the former multifile or the new one; `sheaf
  // leftovers --finish` completes an interrupted commit.
  void commit(const format::Identity& identity);

 private:
  void remove_files();

  Store& store_;
  const std::string path_;
  const std::string original_;
  const std::string temporary_;
  int32_t nfiles_ = 0;
  bool is_pending_ = true;
};

}  // namespace sheaf::multifile
