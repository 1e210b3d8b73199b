// process/lent_memory: memory of one process from which, and to which, another one of the same machine moves
// bytes of a file, so that they need not travel between the two.
//
// Who lends has the memory behind a descriptor; who borrows opens that through /proc and maps it. Numbers of
// processes and descriptors mean something else on another machine, so a secret stands behind the memory: who
// does not find it has found something else, or memory that was called back.
//
// Threads: what is here may be used by any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/export.hpp"
#include "base/non_copyable.hpp"

namespace sheaf {

// How another process finds it. Plain numbers, to be sent.
struct LoanFacts {
  int64_t process = 0;
  int64_t descriptor = -1;  // there
  int64_t bytes = 0;        // without what stands behind
  int64_t secret = 0;

  bool operator==(const LoanFacts&) const = default;
};

struct LentMemory {
  std::span<std::byte> bytes;  // here
  LoanFacts facts;
};

// Memory of a file that can be lent.
class SHEAF_EXPORT LendableMemory : private NonCopyable {
 public:
  // Zeros that no other process knows of; null if there is none left.
  static std::unique_ptr<LendableMemory> make(size_t bytes);

  // The first `bytes` of the file behind a descriptor, which becomes the object's, also if that fails. fresh:
  // the file is empty, and gets that size; else somebody has made it so. Null if the memory cannot be had.
  static std::unique_ptr<LendableMemory> over(int descriptor, size_t bytes, bool fresh);

  ~LendableMemory();

  std::span<std::byte> bytes() const { return {mapping_, bytes_}; }
  LentMemory lent() const;

 private:
  LendableMemory(std::byte* mapping, size_t bytes, int descriptor)
      : mapping_(mapping), bytes_(bytes), descriptor_(descriptor) {}

  std::byte* const mapping_;
  const size_t bytes_;
  const int descriptor_;
};

// While it lives, transfers of this process whose bytes lie in the memory may have other processes of the
// machine map it: whoever moves them finds it by their address. The memory outlives the loan.
class SHEAF_EXPORT Loan : private NonCopyable {
 public:
  explicit Loan(const LentMemory& memory);
  ~Loan();

 private:
  const LentMemory memory_;
};

// Lent memory with this address in it.
SHEAF_EXPORT std::optional<LentMemory> find_loan(const std::byte* at);

// Who borrows it is to leave it alone from now on: another secret stands behind it, so facts from before are
// of no use any more, and its loans are over. For transfers whose end is not known, of a borrower that does
// not answer.
SHEAF_EXPORT void call_back(const LentMemory& memory);

// Memory of another process, mapped here until the object ends; that may be after the other one has dropped
// it.
class SHEAF_EXPORT BorrowedMemory : private NonCopyable {
 public:
  // Null if the memory cannot be had: another machine, another user, or it is no more.
  static std::unique_ptr<BorrowedMemory> map(const LoanFacts& facts);
  ~BorrowedMemory();

  std::span<std::byte> bytes() const { return {mapping_, bytes_}; }
  // Whether it has not been called back: to be asked before each use, and before what a long one has brought
  // is put there.
  bool is_lent(const LoanFacts& facts) const;

 private:
  BorrowedMemory(std::byte* mapping, size_t bytes) : mapping_(mapping), bytes_(bytes) {}

  std::byte* const mapping_;
  const size_t bytes_;
};

}  // namespace sheaf
