#include "multifile/saves/host_record.hpp"

#include <vector>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "storage/beside.hpp"
#include "storage/store.hpp"

namespace sheaf::saves {

std::optional<format::SaveRecord> read_record(Store& store, const std::string& name) {
  std::shared_ptr<File> file;
  try {
    file = store.open(name, Access::read);
  } catch (const Error& error) {
    if (error.code() == Code::not_found) return std::nullopt;
    throw;
  }
  constexpr int64_t largest = int64_t{1} << 30;
  std::vector<std::byte> bytes(static_cast<size_t>(std::min(file->status().size, largest)));
  bytes.resize(file->read_at(bytes, 0));
  auto record = format::decode_save_record(bytes, name);
  if (!record) throw file_error(Code::damaged, name, "is no record of a save");
  return record;
}

void create_record(Store& store, const std::string& name, const format::SaveHead& head,
                   std::span<const format::SaveSlot> tasks) {
  const auto file = make_beside(store, name);
  try {
    file->write_at(format::encode_save_record(head, tasks), 0);
    file->close();
  } catch (...) {
    attempt([&] { store.remove(name); });
    throw;
  }
}

HostRecordSlots::HostRecordSlots(Store& store, const std::string& name, bool is_local)
    : file_(open_beside(store, name, name)), is_local_(is_local) {}

void HostRecordSlots::put(int64_t number, const format::SaveSlot& slot) {
  const std::lock_guard lock(mutex_);
  file_->write_at(format::encode(slot), format::save_slot_offset(number));
  if (!is_local_) file_->publish();
}

}  // namespace sheaf::saves
