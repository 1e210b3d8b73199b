// multifile/saves/host_record: the record that one host keeps of a pending save (docs/format.md, section 21).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/export.hpp"
#include "base/non_copyable.hpp"
#include "format/save_record.hpp"
#include "storage/file.hpp"

namespace sheaf::saves {

// Returns the record `name`; nullopt if it does not exist. Throws what decode_save_record() and the store
// throw.
SHEAF_EXPORT std::optional<format::SaveRecord> read_record(Store& store, const std::string& name);

// Creates the record `name` beside the multifile, with a slot for each of `tasks`. Throws the errors of the
// store.
void create_record(Store& store, const std::string& name, const format::SaveHead& head,
                   std::span<const format::SaveSlot> tasks);

// A slot of a record of this host, or its slot 0. Thread-safe.
class HostRecordSlots : private NonCopyable {
 public:
  // Opens an existing record. `is_local`: no other host reads it. Throws the errors of the store.
  HostRecordSlots(Store& store, const std::string& name, bool is_local);

  // Writes a slot. Other hosts that open the record from now on see it. Throws the errors of the store.
  void put(int64_t number, const format::SaveSlot& slot);

 private:
  const std::shared_ptr<File> file_;
  const bool is_local_;
  std::mutex mutex_;  // one write at a time
};

}  // namespace sheaf::saves
