#include "campaign/region_oracle.hpp"

#include <algorithm>
#include <stdexcept>

namespace sheaf::test::campaign {

Regions::Regions(int64_t size, std::span<const std::byte> old) : bytes_(static_cast<size_t>(size)) {
  for (size_t i = 0; i < old.size(); ++i) bytes_[i] = {.accepted = old[i], .exists = true, .is_safe = true};
}

void Regions::attempt(int64_t offset, std::span<const std::byte> data) {
  if (stopped_) return;
  for (size_t i = 0; i < data.size(); ++i) {
    Byte& byte = bytes_.at(static_cast<size_t>(offset) + i);
    if (byte.possible.empty()) byte.possible.push_back(byte.accepted);
    byte.possible.push_back(data[i]);
    byte.unsure.push_back(data[i]);
  }
}

void Regions::accept(int64_t offset, std::span<const std::byte> data) {
  if (stopped_) return;
  for (size_t i = 0; i < data.size(); ++i) {
    Byte& byte = bytes_.at(static_cast<size_t>(offset) + i);
    byte.accepted = data[i];
    byte.unsure.clear();
    byte.is_lacking = false;
  }
  for (size_t i = 0; i < static_cast<size_t>(offset) + data.size() && !data.empty(); ++i)
    bytes_.at(i).exists = true;
}

void Regions::lack(int64_t offset, std::span<const std::byte> data) {
  for (size_t i = 0; !stopped_ && i < data.size(); ++i)
    bytes_.at(static_cast<size_t>(offset) + i).is_lacking = true;
}

void Regions::commit() {
  if (stopped_) return;
  for (Byte& byte : bytes_) {
    byte.possible = byte.unsure;  // bytes of failed calls may have been synced, too
    if (!byte.possible.empty()) byte.possible.push_back(byte.accepted);
    byte.is_safe = byte.exists;
  }
}

void Regions::check(std::span<const std::byte> found, bool closed, bool safe) const {
  for (size_t i = 0; i < bytes_.size(); ++i) {
    const Byte& byte = bytes_[i];
    const std::string where = "byte " + std::to_string(i) + (closed ? ", closed: " : ", not closed: ");
    if (closed && byte.is_lacking) throw std::runtime_error(where + "of a failed call that was not repeated");
    if (i >= found.size()) {
      if ((closed && byte.exists) || (safe && byte.is_safe))
        throw std::runtime_error(where + "missing, the file has " + std::to_string(found.size()) + " bytes");
      continue;
    }
    if (found[i] == byte.accepted) continue;
    if (closed) throw std::runtime_error(where + "not what was accepted");
    if (std::ranges::find(byte.possible, found[i]) != byte.possible.end()) continue;
    // The byte may also be zero, because the file may have grown beyond it before it was written.
    if (found[i] == std::byte{} && (!byte.possible.empty() || !byte.exists)) continue;
    if (!safe && !byte.possible.empty()) continue;
    throw std::runtime_error(where + "is " + std::to_string(static_cast<int>(found[i])) +
                             ", neither what was there (" + std::to_string(static_cast<int>(byte.accepted)) +
                             (byte.possible.empty() ? ", not written" : ", written") +
                             "), nor what a call has written");
  }
  if (found.size() > bytes_.size()) throw std::runtime_error("the file is longer than anything written");
}

}  // namespace sheaf::test::campaign
