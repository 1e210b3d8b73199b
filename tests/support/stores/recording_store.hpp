// support/stores/recording_store: remembers every change made to the files of a store, so that a test can
// rebuild what is on disk after any prefix of the changes: what a process killed at that moment leaves
// behind, or a loss of power.
#pragma once

#include <memory>
#include <string>

#include "storage/decorators/forwarding_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf {

// Decorator of a Store. The changes are: create (with stripes as wished), write, resize, sync, rename,
// remove. Files that exist before their first use through this object are part of the state after 0 changes.
//
// Safe for use from several threads; calls that change something happen one at a time. `inner` must outlive
// this object and its files; files may outlive this object.
class RecordingStore final : public ForwardingStore {
 public:
  explicit RecordingStore(Store& inner);
  ~RecordingStore() override;

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  bool make_in_stripes(const std::string& path, const Striping& wanted) override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void sync_name(const std::string& path) override { Store::sync_name(path); }  // a change

  // Number of changes so far.
  size_t length() const;

  // One line about change number `change` (< length()), for messages of tests.
  std::string describe(size_t change) const;

  // Rebuilds in the empty store `into` the files as they are after the first `prefix` changes (<= length()).
  void replay(size_t prefix, MemoryStore& into) const;

  // The same, after a loss of power: of what was not synced, `seed` decides what is left.
  // - Bytes and sizes of a file are safe once a later sync of that file is among the changes. Of other writes
  // any
  //   subset of 512-byte sectors survives, in any order, and a lost sector may still have made the file
  //   longer.
  // - Names (create, rename, remove) survive in order: some last ones are lost, but none before a sync of any
  // file,
  //   as on file systems with a journal. A file whose creation is lost is not there.
  void replay_losing_unsynced(size_t prefix, uint64_t seed, MemoryStore& into) const;

  class Tape;  // private to the implementation

 private:
  const std::shared_ptr<Tape> tape_;
};

}  // namespace sheaf
