// exchange/parcel: bytes on the way between tasks, and where in the file they belong.
//
// A parcel is one message: a head, the bytes of its extents one behind the other, and the list of the extents. It is built
// in place, so that what is appended is copied once. All sizes in bytes; numbers in native byte order, as parcels never
// leave the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sheaf::exchange {

// Bytes [offset, offset + length) of a file.
struct Extent {
  int64_t offset = 0;
  int64_t length = 0;

  int64_t end() const { return offset + length; }
};

// What a task says with its parcel. The meaning of `note` is that of the user of the exchange.
struct Head {
  int64_t extents = 0;
  int64_t bytes = 0;
  int64_t note[4] = {};
};

class Parcel {
 public:
  // Most bytes a sealed parcel may have; not below its head.
  explicit Parcel(int64_t capacity) : capacity_(capacity) {}

  // Appends as much of `data` as there is room for, belonging at `offset`, and returns how much. An extent that continues
  // the last one becomes part of it.
  int64_t append(std::span<const std::byte> data, int64_t offset);
  // Appends an extent without bytes (a wish to read it); false if there is no room.
  bool append_wish(const Extent& extent);

  int64_t room() const;  // for more, around it included
  bool empty() const { return extents_.empty(); }
  int64_t bytes() const;  // of its extents
  std::span<const Extent> extents() const { return extents_; }
  std::span<const std::byte> data() const;

  // The message. The parcel can be sealed again, after more has been appended too.
  std::span<const std::byte> seal(const int64_t (&note)[4]);

  // Forgets what it holds, keeps its memory.
  void clear();

 private:
  void reserve(size_t bytes);

  int64_t capacity_;
  int64_t bytes_ = 0;             // appended with data
  std::vector<std::byte> memory_;  // head, data, maybe sealed extents
  std::vector<Extent> extents_;
};

// A parcel as it arrived; looks into the message.
struct Arrived {
  Head head;
  std::span<const Extent> extents;
  std::span<const std::byte> data;  // empty for wishes
};

// Throws damaged if the message is not what seal() makes. The memory must be aligned to 8 bytes.
Arrived open_parcel(std::span<const std::byte> message);

}  // namespace sheaf::exchange
