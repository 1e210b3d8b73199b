// region_oracle: what a file that is written at offsets may hold after a program has ended: a shared file of
// MPI-IO, or a striped one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sheaf::test::campaign {

// Bytes of a file of at most `size` bytes. Not thread-safe.
class Regions {
 public:
  // `old`: what was in the file before, at most `size` bytes.
  Regions(int64_t size, std::span<const std::byte> old);

  // A call that writes `data` at `offset` begins: from now on these bytes may be there.
  void attempt(int64_t offset, std::span<const std::byte> data);
  // It has succeeded.
  void accept(int64_t offset, std::span<const std::byte> data);
  // It has failed, and the program goes on without these bytes.
  void lack(int64_t offset, std::span<const std::byte> data);
  // All accepted bytes of the file are safe from now on: a sync has succeeded.
  void commit();
  // The program has died.
  void stop() { stopped_ = true; }

  // Throws std::runtime_error with the violation. `safe`: whether the bytes of successful syncs must be there
  // after a failed close.
  void check(std::span<const std::byte> found, bool closed, bool safe = true) const;

 private:
  struct Byte {
    std::byte accepted{};               // by the last call that succeeded
    std::vector<std::byte> possible{};  // what was there at the last sync, and all that was written since
    bool exists = false;                // the file is longer than this
    bool is_safe = false;               // it was so at the last sync
    bool is_lacking = false;            // of a failed call that was not repeated
  };
  std::vector<Byte> bytes_;
  bool stopped_ = false;
};

}  // namespace sheaf::test::campaign
