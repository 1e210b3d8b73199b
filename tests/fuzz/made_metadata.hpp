// made_metadata: makes the metadata of a physical file from a recipe, and determines its defects without the
// readers. Sizes and offsets are in bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/extension.hpp"
#include "fuzz/packed_files.hpp"
#include "fuzz/recipe.hpp"
#include "fuzz/span_file.hpp"
#include "layout/placement.hpp"

namespace sheaf::fuzz {

struct MadeMetadata {
  // The file consists of `head`, a hole, and `tail` from offset tail_at on.
  Bytes head, tail;
  int64_t tail_at = 0;

  format::Header header;
  std::vector<int64_t> ranks, chunks, counts;  // by task
  std::vector<int64_t> sizes;                  // [round * tasks + task], for the rounds stored in the file
  format::Pointer pointer;
  int64_t mapping_size = 0;  // as stored in the file
  std::vector<layout::Placement> mapping;
  bool sealed = false;    // the checksums are correct
  bool cut = false;       // bytes are missing at the end
  bool unmarked = false;  // META1 has no pointer

  // Makes a file from the recipe. Reuses the memory of the previous file.
  void make(Recipe& recipe);

  int64_t rounds() const { return ranks.empty() ? 0 : std::ssize(sizes) / std::ssize(ranks); }
  std::span<const int64_t> sizes_of_round(int64_t round) const {
    return std::span(sizes).subspan(static_cast<size_t>(round) * ranks.size(), ranks.size());
  }
  // Returns the chunk sizes, rounded up to whole blocks if the format requires it. A size whose rounded value
  // would be too large stays unchanged.
  std::vector<int64_t> final_chunks() const;
  // Returns true if the tail cannot be at the pointer's offset, or is shorter than header and pointer claim.
  // The results of readers are then undefined.
  bool overlapping() const;
  // Returns whether all numbers are correct, so that every reader accepts the file.
  bool is_sound() const;

 private:
  void take_numbers(Recipe& recipe);
  void fit_pointer();
  void write(Recipe& recipe);
  bool seal();
  bool blocks_fit() const;

  int64_t claimed_tasks_ = 0;
};

}  // namespace sheaf::fuzz
