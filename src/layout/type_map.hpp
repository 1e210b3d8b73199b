// layout/type_map: which bytes a datatype covers, without listing them one by one.
//
// A TypeMap is one instance of a datatype: pieces of bytes at displacements, in the order of the type map
// (MPI 3.1, section 4.1), neighbours merged. Regular types stay small: a subarray of any size is a few loops.
// It is an immutable value, cheap to copy, for any number of threads. All sizes and displacements in bytes;
// displacements may be negative in memory. Constructors are those of MPI; they throw invalid_argument where a
// size or displacement does not fit 63 bits.
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

// Blocks of bytes: starts[i+1] - starts[i] bytes at base + offsets[i]; `starts` has one entry more than
// `offsets`.
struct Blocks {
  int64_t base = 0;
  std::span<const int64_t> offsets;
  std::span<const int64_t> starts;
};

// Gets the pieces of a visit in the order of the type map.
class PieceVisitor {
 public:
  virtual ~PieceVisitor() = default;
  virtual void run(const Run& run) = 0;
  virtual void equal(const EqualBlocks& blocks) = 0;
  virtual void blocks(const Blocks& blocks) = 0;
};

class SHEAF_EXPORT TypeMap {
 public:
  // No bytes at all.
  TypeMap();

  // `size` >= 0 contiguous bytes: an elementary type.
  static TypeMap bytes(int64_t size);
  static TypeMap contiguous(int64_t count, const TypeMap& type) { return vector(1, count, 0, type); }
  // `count` groups of `block_length` instances, each group `stride` bytes behind the one before
  // (MPI_Type_create_hvector).
  static TypeMap vector(int64_t count, int64_t block_length, int64_t stride, const TypeMap& type);
  // Groups of block_lengths[i] instances at displacements[i] bytes (MPI_Type_create_hindexed).
  static TypeMap indexed(std::span<const int64_t> block_lengths, std::span<const int64_t> displacements,
                         const TypeMap& type);
  // The same with groups of one length (MPI_Type_create_hindexed_block).
  static TypeMap indexed_block(int64_t block_length, std::span<const int64_t> displacements,
                               const TypeMap& type);
  // block_lengths[i] instances of types[i] at displacements[i] bytes (MPI_Type_create_struct).
  static TypeMap structure(std::span<const int64_t> block_lengths, std::span<const int64_t> displacements,
                           std::span<const TypeMap> types);
  // A part of an array; all spans of one length >= 1, in elements. row_major: the last dimension is
  // contiguous (C), else the first (Fortran). The extent is that of the whole array
  // (MPI_Type_create_subarray).
  static TypeMap subarray(std::span<const int64_t> sizes, std::span<const int64_t> subsizes,
                          std::span<const int64_t> starts, bool row_major, const TypeMap& type);
  // The same bytes with another lower bound and extent (MPI_Type_create_resized).
  TypeMap resized(int64_t lower_bound, int64_t extent) const;

  int64_t size() const { return size_; }  // bytes of data
  int64_t lower_bound() const { return lower_; }
  int64_t extent() const { return extent_; }
  int64_t true_lower_bound() const { return true_lower_; }  // of the first byte of data; 0 if there is none
  int64_t true_upper_bound() const { return true_upper_; }  // behind the last byte
  int64_t pieces() const {
    return pieces_;
  }  // separate pieces of one instance; neighbours merged where that is easy

  // The bytes of any number of instances are one piece that begins at offset 0.
  bool is_contiguous() const { return pieces_ <= 1 && size_ == extent_ && true_lower_ == 0; }
  // In one instance displacements are not negative, never go back and do not overlap: what a file type must
  // fulfil (MPI 3.1, section 13.3) for writing. For reading `may_overlap`: overlaps that do not go back are
  // allowed.
  bool rises(bool may_overlap = false) const;
  // The same over any number of consecutive instances. One that spans more than its extent rises and is not
  // ordered: a second instance begins in front of the first one's end.
  bool is_ordered(bool may_overlap = false) const;
  // The same bytes with an extent that no instance spans beyond: ordered if this one rises.
  TypeMap set_apart() const;
  // A number that equal type maps share, and different ones do not in practice.
  uint64_t fingerprint() const { return fingerprint_; }

  // Visits bytes [from, to) of the data of consecutive instances, each one extent behind the one before, in
  // order: byte s of the data lies in instance s / size(). 0 <= from <= to. Offsets are relative to the first
  // instance plus `base`.
  void visit(int64_t base, int64_t from, int64_t to, PieceVisitor& visitor) const;

  // Where byte `position` >= 0 of the data of consecutive instances lies; size() > 0.
  int64_t offset_of(int64_t position) const;

  // How many bytes of data of consecutive instances lie below `offset`; rises() and size() > 0. Never more
  // than 2^63-1. Of a type whose extent is not positive, those of the first instance.
  int64_t bytes_below(int64_t offset) const;

  struct Node;  // private to the implementation

 private:
  TypeMap(std::shared_ptr<const Node> node, int64_t origin);
  template <class TypeOf>
  static TypeMap groups(std::span<const int64_t> block_lengths, std::span<const int64_t> displacements,
                        TypeOf type_of);
  void cover(int64_t displacement, int64_t count, const TypeMap& type, bool first);
  void seal();

  std::shared_ptr<const Node> node_;  // null: no bytes
  int64_t origin_ = 0;                // displacement of the node
  int64_t size_ = 0;
  int64_t lower_ = 0;
  int64_t extent_ = 0;
  int64_t true_lower_ = 0;
  int64_t true_upper_ = 0;
  int64_t pieces_ = 0;
  uint64_t fingerprint_ = 0;
};

}  // namespace sheaf::layout
