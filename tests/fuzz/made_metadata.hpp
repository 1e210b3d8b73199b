// made_metadata: the metadata of a physical file, made of a recipe, and what is right or wrong with it, found
// without the readers. Sizes and offsets in bytes.
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
  std::vector<int64_t> ranks, chunks, counts;  // of each task
  std::vector<int64_t> sizes;                  // [round * tasks + task], as many rounds as are in the file
  format::Pointer pointer;
  int64_t mapping_size = 0;  // as the file says
  std::vector<layout::Placement> mapping;
  bool sealed = false;    // with checksums, which are right
  bool cut = false;       // bytes are missing at the end
  bool unmarked = false;  // the pointer of META1 is not there

  // Uses the memory of what was made before.
  void make(Recipe& recipe);

  int64_t rounds() const { return ranks.empty() ? 0 : std::ssize(sizes) / std::ssize(ranks); }
  std::span<const int64_t> sizes_of_round(int64_t round) const {
    return std::span(sizes).subspan(static_cast<size_t>(round) * ranks.size(), ranks.size());
  }
  // Rounded up to blocks where the format wants it; what has no such value stays.
  std::vector<int64_t> final_chunks() const;
  // The tail cannot be where the pointer says, or is not all that the header and the pointer claim: nothing
  // is known of what a reader finds.
  bool overlapping() const;
  // No number is wrong: everybody can read it.
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
