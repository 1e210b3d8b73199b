// made_metadata: the metadata of a physical file, created from a recipe, and its defects, determined without
// the readers. Sizes and offsets in bytes.
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
  // The file: `head`, a hole, `tail` from tail_at on.
  Bytes head, tail;
  int64_t tail_at = 0;

  format::Header header;
  std::vector<int64_t> ranks, chunks, counts;  // by task
  std::vector<int64_t> sizes;                  // [round * tasks + task], for the rounds stored in the file
  format::Pointer pointer;
  int64_t mapping_size = 0;  // as stored in the file
  std::vector<layout::Placement> mapping;
  bool sealed = false;    // with correct checksums
  bool cut = false;       // bytes are missing at the end
  bool unmarked = false;  // META1 has no pointer

  // Reuses the memory of the previous file.
  void make(Recipe& recipe);

  int64_t rounds() const { return ranks.empty() ? 0 : std::ssize(sizes) / std::ssize(ranks); }
  std::span<const int64_t> sizes_of_round(int64_t round) const {
    return std::span(sizes).subspan(static_cast<size_t>(round) * ranks.size(), ranks.size());
  }
  // Returns the chunk sizes rounded up to blocks if the format requires it; sizes that cannot be rounded stay
  // unchanged.
  std::vector<int64_t> final_chunks() const;
  // Returns whether the tail cannot be where the pointer says, or is shorter than header and pointer claim:
  // the result of a reader is then undefined.
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
