// support/stores/recording_store: records every change to the files of a store. A test can then rebuild the
// state of the disk after any prefix of the changes: the state that a killed process or a loss of power
// leaves.
#pragma once

#include <memory>
#include <string>

#include "storage/decorators/forwarding_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf {

// Decorator of a Store. It records creations (with the requested striping), writes, resizes, syncs, renames
// and removals. Files that exist before their first use through this object are part of the state after 0
// changes.
//
// Safe for use from several threads; calls that change a file are serialized. `inner` must outlive this
// object and its files; files may outlive this object.
class RecordingStore final : public ForwardingStore {
 public:
  explicit RecordingStore(Store& inner);
  ~RecordingStore() override;

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  bool make_in_stripes(const std::string& path, const Striping& wanted) override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void sync_name(const std::string& path) override { Store::sync_name(path); }  // is recorded as a sync

  // Returns the number of changes so far.
  size_t length() const;

  // Returns one line about change number `change` (< length()), for messages of tests.
  std::string describe(size_t change) const;

  // Returns true if a file has been renamed.
  bool has_renamed() const;

  // Rebuilds in the empty store `into` the files as they are after the first `prefix` changes (<= length()).
  void replay(size_t prefix, MemoryStore& into) const;

  // Like replay(), followed by a loss of power: `seed` determines which unsynced changes survive.
  // - Bytes and sizes of a file are safe if the changes include a later sync of that file. Otherwise any
  //   subset of 512-byte sectors survives, in any order. A lost sector may still have extended the file.
  // - Names (create, rename, remove) survive in order. Some of the last ones are lost, but none that precede
  //   a sync of any file, as on file systems with a journal. A file does not exist if its creation is lost.
  void replay_losing_unsynced(size_t prefix, uint64_t seed, MemoryStore& into) const;

  class ChangeTape;  // private to the implementation

 private:
  const std::shared_ptr<ChangeTape> tape_;
};

}  // namespace sheaf
