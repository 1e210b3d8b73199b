// multifile/generation/opening_file: a physical file during an attempt to open its multifile
// (multifile/generation/generation). Serves the small reads of metadata from few large requests, and compares
// the identity of the file with the one that the attempt expects.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "format/extension.hpp"
#include "storage/decorators/forwarding_file.hpp"

namespace sheaf::multifile {

class GenerationStore;

// One attempt, shared by its files, which may outlive it.
struct OpenAttempt {
  GenerationStore* store = nullptr;  // null after the end of the attempt
  bool prefetches = false;           // files may hold prefetched bytes
};

// A file that is open for reading. The bytes that it has prefetched are used until the attempt ends, the file
// is revalidated or drop_prefetched() is called. Later reads go to the inner file. One thread at a time
// during the attempt.
class OpeningFile final : public ForwardingFile {
 public:
  // If `checks`, the identity of the file must be the expected one.
  OpeningFile(std::shared_ptr<File> file, std::shared_ptr<const OpenAttempt> attempt, bool checks)
      : ForwardingFile(std::move(file)), attempt_(std::move(attempt)), unchecked_(checks) {}

  // The first read of the whole header also checks the identity. Throws what
  // GenerationStore::require_expected() throws.
  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  void read_pieces(std::span<const Piece<std::byte>> pieces) override { inner().read_pieces(pieces); }
  void prefetch(int64_t offset, int64_t length) override;
  void drop_prefetched(int64_t from) override;
  void revalidate() override;
  int64_t revalidate_opened() override;
  void reopen() override;
  FileTraits traits() override { return inner().traits(); }
  FileDescriptor descriptor(DescriptorKind kind) override { return inner().descriptor(kind); }

  // Checks the identity, unless a read of the header has done so.
  void check_identity();

  // Returns the inner file, for the time after the attempt.
  const std::shared_ptr<File>& opened() const { return shared_inner(); }

 private:
  struct Prefetched {
    int64_t offset = 0;
    int64_t requested_end = 0;  // beyond end() if the file ended there
    std::vector<std::byte> bytes;

    int64_t end() const { return offset + std::ssize(bytes); }
  };
  bool is_opening() const { return attempt_->store != nullptr; }
  bool serve(std::span<std::byte> data, int64_t offset) const;

  const std::shared_ptr<const OpenAttempt> attempt_;
  std::vector<Prefetched> prefetched_;
  bool unchecked_;
};

}  // namespace sheaf::multifile
