// layout/type_map: the bytes of a datatype, in a compact form.
//
// A TypeMap is one instance of a datatype: pieces of bytes at displacements, in the order of the type map
// (MPI 3.1, section 4.1), with adjacent pieces merged. Regular types stay small: a subarray of any size takes
// a few loops. It is an immutable value, cheap to copy, and safe to use from several threads. All sizes and
// displacements are in bytes; displacements in memory may be negative. The constructors correspond to those
// of MPI and throw invalid_argument if a size or displacement does not fit 63 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/export.hpp"
#include "layout/run.hpp"

namespace sheaf::layout {

// Blocks of `length` bytes at base + offsets[i].
struct EqualBlocks {
  int64_t base = 0;
  int64_t length = 0;
  std::span<const int64_t> offsets;
};

// Blocks of starts[i+1] - starts[i] bytes at base + offsets[i]. `starts` has one entry more than `offsets`.
struct Blocks {
  int64_t base = 0;
  std::span<const int64_t> offsets;
  std::span<const int64_t> starts;
};

// Receives the pieces of a visit in the order of the type map.
class PieceVisitor {
 public:
  virtual ~PieceVisitor() = default;
  virtual void run(const Run& run) = 0;
  virtual void equal(const EqualBlocks& blocks) = 0;
  virtual void blocks(const Blocks& blocks) = 0;
};

class SHEAF_EXPORT TypeMap {
 public:
  // Constructs a type without bytes.
  TypeMap();

  // Returns an elementary type of `size` >= 0 contiguous bytes.
  static TypeMap bytes(int64_t size);
  static TypeMap contiguous(int64_t count, const TypeMap& type) { return vector(1, count, 0, type); }
  // Returns `count` groups of `block_length` instances. `stride` is the distance in bytes between the starts
  // of two groups (MPI_Type_create_hvector).
  static TypeMap vector(int64_t count, int64_t block_length, int64_t stride, const TypeMap& type);
  // Returns groups of block_lengths[i] instances at displacements[i] bytes (MPI_Type_create_hindexed).
  static TypeMap indexed(std::span<const int64_t> block_lengths, std::span<const int64_t> displacements,
                         const TypeMap& type);
  // Like indexed(), with groups of equal length (MPI_Type_create_hindexed_block).
  static TypeMap indexed_block(int64_t block_length, std::span<const int64_t> displacements,
                               const TypeMap& type);
  // Returns groups of different types. Group i has block_lengths[i] instances of types[i] and starts at
  // displacements[i] bytes (MPI_Type_create_struct).
  static TypeMap structure(std::span<const int64_t> block_lengths, std::span<const int64_t> displacements,
                           std::span<const TypeMap> types);
  // Returns a subarray. Each span has one number of elements per dimension, for at least one dimension. If
  // `row_major` is true, the last dimension is contiguous (C), otherwise the first (Fortran). The extent is
  // that of the whole array (MPI_Type_create_subarray).
  static TypeMap subarray(std::span<const int64_t> sizes, std::span<const int64_t> subsizes,
                          std::span<const int64_t> starts, bool row_major, const TypeMap& type);
  // Returns the same bytes with another lower bound and extent (MPI_Type_create_resized).
  TypeMap resized(int64_t lower_bound, int64_t extent) const;

  int64_t size() const { return size_; }  // bytes of data
  int64_t lower_bound() const { return lower_; }
  int64_t extent() const { return extent_; }
  int64_t true_lower_bound() const { return true_lower_; }  // first byte of data; 0 if empty
  int64_t true_upper_bound() const { return true_upper_; }  // end of the last byte
  // Returns the number of pieces of one instance. Some adjacent pieces may count separately.
  int64_t pieces() const { return pieces_; }

  // Returns true if the bytes of any number of instances are one piece that starts at offset 0.
  bool is_contiguous() const { return pieces_ <= 1 && size_ == extent_ && true_lower_ == 0; }
  // Returns true if the displacements in one instance are nonnegative, nondecreasing and without overlaps:
  // the condition for writing through a file type (MPI 3.1, section 13.3). `may_overlap` permits overlaps, as
  // for reading.
  bool rises(bool may_overlap = false) const;
  // Returns true if the displacements in any number of consecutive instances meet the condition of rises().
  // A type that spans more than its extent may rise without being ordered, because the second instance
  // starts before the end of the first one.
  bool is_ordered(bool may_overlap = false) const;
  // Returns this type with its extent enlarged, if necessary, to the distance from its first byte to the end
  // of its last byte. If this type rises, the result is ordered.
  TypeMap set_apart() const;
  // Returns a number that is equal for equal type maps and, in practice, different for different ones.
  uint64_t fingerprint() const { return fingerprint_; }

  // Visits data bytes [from, to) of consecutive instances, in order. Requires 0 <= from <= to. Instances are
  // one extent apart; data byte s is in instance s / size(). The visitor receives offsets as if the first
  // instance were at offset `base`.
  void visit(int64_t base, int64_t from, int64_t to, PieceVisitor& visitor) const;

  // Returns the offset of byte `position` >= 0 of the data of consecutive instances. Requires size() > 0.
  int64_t offset_of(int64_t position) const;

  // Returns how many data bytes of consecutive instances are at offsets less than `offset`. The result is at
  // most 2^63-1. Requires rises() and size() > 0. If the extent is not positive, counts only the first
  // instance.
  int64_t bytes_below(int64_t offset) const;

  struct TypeNode;  // private to the implementation

 private:
  TypeMap(std::shared_ptr<const TypeNode> node, int64_t origin);
  template <class TypeOf>
  static TypeMap groups(std::span<const int64_t> block_lengths, std::span<const int64_t> displacements,
                        TypeOf type_of);
  void cover(int64_t displacement, int64_t count, const TypeMap& type, bool first);
  void seal();

  std::shared_ptr<const TypeNode> node_;  // null: no bytes
  int64_t origin_ = 0;                    // displacement of the node
  int64_t size_ = 0;
  int64_t lower_ = 0;
  int64_t extent_ = 0;
  int64_t true_lower_ = 0;
  int64_t true_upper_ = 0;
  int64_t pieces_ = 0;
  uint64_t fingerprint_ = 0;
};

}  // namespace sheaf::layout
