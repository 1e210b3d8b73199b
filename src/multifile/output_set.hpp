// multifile/output_set: new files that appear under their final names all together, or not at all.
//
// Each file is written under a temporary name in the directory of its final one ("NAME.part", or
// "NAME.part1", ... if that exists). commit() renames them; an OutputSet that is destroyed before removes
// them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/store.hpp"

namespace sheaf {

class OutputSet {
 public:
  enum class Existing { refuse, replace };

  OutputSet(Store& store, Existing existing) : store_(store), existing_(existing) {}
  ~OutputSet();
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;

  // Throws invalid_argument if `name` may not be written: it exists and may not be replaced, or is no regular
  // file.
  void check(const std::string& name) const;

  // Checks, and creates the temporary file; the caller closes what it gets before commit(). Files are
  // numbered in the order of add().
  std::shared_ptr<File> add(const std::string& name);
  // Opens file `number` again, for writing.
  std::shared_ptr<File> reopen(size_t number) { return store_.open(temporary(number), Access::write); }
  size_t size() const { return names_.size(); }

  // Brings all files under their final names. If a rename fails, the files before it are there, the others
  // are not.
  void commit();

 private:
  struct Name {
    std::string final;
    int suffix;
  };
  std::string temporary(size_t number) const;

  Store& store_;
  Existing existing_;
  std::vector<Name> names_;
  size_t committed_ = 0;
};

}  // namespace sheaf
