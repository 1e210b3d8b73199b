// region_oracle: checks the contents of a file after a program that wrote it at offsets has ended. The file
// is a shared file of MPI-IO or a striped file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sheaf::test::campaign {

// The possible values of each byte of a file of at most `size` bytes. Not thread-safe.
class Regions {
 public:
  // `old` is the content before the program, at most `size` bytes.
  Regions(int64_t size, std::span<const std::byte> old);

  // Records that a call starts to write `data` at `offset`. From now on the file may have these bytes.
  void attempt(int64_t offset, std::span<const std::byte> data);
  // Records that the call succeeded.
  void accept(int64_t offset, std::span<const std::byte> data);
  // Records that the call failed and the program continues without these bytes.
  void lack(int64_t offset, std::span<const std::byte> data);
  // Records a successful sync, after which all bytes accepted so far are safe.
  void commit();
  // Records that the program has died. Later calls have no effect.
  void stop() { stopped_ = true; }

  // Checks the content `found` of the file. Throws std::runtime_error with the first violation. `closed` is
  // true if the close succeeded. If `safe`, the bytes of successful syncs must be in the file even after a
  // failed close.
  void check(std::span<const std::byte> found, bool closed, bool safe = true) const;

 private:
  struct Byte {
    std::byte accepted{};               // value of the last successful call
    std::vector<std::byte> possible{};  // value at the last sync, and all values written since
    std::vector<std::byte> unsure{};    // values that calls have tried to write since the last successful one
    bool exists = false;                // the file extends beyond this byte
    bool is_safe = false;               // the file extended beyond this byte at the last sync
    bool is_lacking = false;            // part of a failed call that was not repeated
  };
  std::vector<Byte> bytes_;
  bool stopped_ = false;
};

}  // namespace sheaf::test::campaign
