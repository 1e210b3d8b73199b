// base/os/lent_memory: memory of one process that another process of the same host maps, to move bytes of a
// file directly to or from it instead of sending messages.
//
// The lender keeps a descriptor of the memory; the borrower opens it through /proc and maps it. A secret
// follows the memory, because the same process and descriptor numbers denote other memory on another host. If
// the borrower does not find the expected secret, it has opened other memory, or the lender has revoked the
// loan.
//
// Any thread may call the functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/export.hpp"
#include "base/non_copyable.hpp"

namespace sheaf {

// Identifies lent memory to other processes. Holds plain numbers only, so that it can be sent in messages.
struct LoanFacts {
  int64_t process = 0;
  int64_t descriptor = -1;  // in the lending process
  int64_t bytes = 0;        // size without the secret
  int64_t secret = 0;

  bool operator==(const LoanFacts&) const = default;
};

struct LentMemory {
  std::span<std::byte> bytes;  // address in this process
  LoanFacts facts;
};

// Memory of a file that can be lent.
class SHEAF_EXPORT LendableMemory : private NonCopyable {
 public:
  // Allocates zeroed memory that no other process has mapped; null if memory is exhausted.
  static std::unique_ptr<LendableMemory> make(size_t bytes);

  // Maps the first `bytes` of the file of `descriptor`. Takes ownership of the descriptor even on failure. If
  // `fresh` is true, the file is empty and the call sets its size to `bytes`; otherwise another process has
  // set the size. Returns null on failure.
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

// Allows other processes of the host to map the memory during the lifetime of the object. Transfers of bytes
// in that memory find it by their address. The memory must outlive the loan.
class SHEAF_EXPORT Loan : private NonCopyable {
 public:
  explicit Loan(const LentMemory& memory);
  ~Loan();

 private:
  const LentMemory memory_;
};

// Returns the lent memory that contains the address `at`.
SHEAF_EXPORT std::optional<LentMemory> find_loan(const std::byte* at);

// Revokes the memory: ends its loans and changes the secret, so that borrowers no longer access it and
// earlier LoanFacts are invalid. Called when the outcome of a transfer is unknown because the borrower does
// not respond.
SHEAF_EXPORT void call_back(const LentMemory& memory);

// Memory of another process, mapped into this one until the object is destroyed, even if the lender has
// released it before.
class SHEAF_EXPORT BorrowedMemory : private NonCopyable {
 public:
  // Returns null if the memory cannot be mapped: it is on another host, belongs to another user, or no longer
  // exists.
  static std::unique_ptr<BorrowedMemory> map(const LoanFacts& facts);
  ~BorrowedMemory();

  std::span<std::byte> bytes() const { return {mapping_, bytes_}; }
  // Returns false if the memory was revoked. Must be checked before each use, and again before storing the
  // result of a long operation.
  bool is_lent(const LoanFacts& facts) const;

 private:
  BorrowedMemory(std::byte* mapping, size_t bytes) : mapping_(mapping), bytes_(bytes) {}

  std::byte* const mapping_;
  const size_t bytes_;
};

}  // namespace sheaf
