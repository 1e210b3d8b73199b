// support/stores/recording_tape: the list of changes of a RecordingStore, shared with its open files.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "support/stores/recording_store.hpp"

namespace sheaf {

// The caller of every function holds `mutex`.
class RecordingStore::ChangeTape {
 public:
  enum class ChangeKind : uint8_t { create, write, resize, sync, rename, remove };

  // One recorded change. It identifies the file by number, because names change.
  struct RecordedChange {
    ChangeKind kind;
    size_t file = 0;
    std::string path;             // create, rename, remove
    std::string to;               // rename
    int64_t offset = 0;           // write; the new size for a resize
    std::vector<std::byte> data;  // write
    Striping striping = {};       // create
  };

  std::mutex mutex;
  std::vector<RecordedChange> changes;

  // Returns the number of the file called `path`, which must exist. A file not used before becomes part of
  // the state after 0 changes, with its current contents in `inner`.
  size_t number_of(const std::string& path, Store& inner);

  // Returns the number of a file that was just created under `path`.
  size_t created(const std::string& path);

  void renamed(const std::string& from, const std::string& to);
  void removed(const std::string& path);

  // Creates and opens the files that existed before the first change: element i is file number i.
  std::vector<std::shared_ptr<File>> initial_state(MemoryStore& into) const;

 private:
  struct Initial {
    size_t file;
    std::string path;
    std::shared_ptr<MemoryStore> contents;
  };

  size_t files_ = 0;
  std::map<std::string, size_t> names_;  // current names
  std::vector<Initial> initial_;
};

}  // namespace sheaf
