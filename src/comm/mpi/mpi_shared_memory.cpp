#include "comm/mpi/mpi_shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <utility>

#include "base/assert.hpp"
#include "base/os/random.hpp"
#include "comm/mpi/mpi_calls.hpp"
#include "comm/mpi/mpi_timeout.hpp"

namespace sheaf::mpi {

namespace {

using ShmName = std::array<char, 64>;

// Maps the shared memory `name`. If `make`, creates it with `bytes` zeros. Returns null on failure.
std::unique_ptr<LendableMemory> map(const ShmName& name, size_t bytes, bool make) {
  return LendableMemory::over(shm_open(name.data(), O_RDWR | O_CLOEXEC | (make ? O_CREAT | O_EXCL : 0), 0600),
                              bytes, make);
}

class Mapped final : public SharedMemory {
 public:
  explicit Mapped(std::unique_ptr<LendableMemory> memory) : memory_(std::move(memory)) {}

  std::span<std::byte> bytes() const override { return memory_->bytes(); }
  std::optional<LentMemory> lent() const override { return memory_->lent(); }

 private:
  const std::unique_ptr<LendableMemory> memory_;
};

}  // namespace

std::shared_ptr<SharedMemory> share_memory(MPI_Comm comm, size_t bytes) {
  SHEAF_ASSERT(bytes > 0);
  const int rank = rank_in(comm);
  ShmName name{};
  std::unique_ptr<LendableMemory> memory;
  if (rank == 0) {
    std::snprintf(name.data(), name.size(), "/sheaf.%ld.%016llx", static_cast<long>(getpid()),
                  static_cast<unsigned long long>(random_number()));
    memory = map(name, bytes, true);
  }
  with_retries("MPI_Ibcast", [&](MPI_Request* request) {
    return MPI_Ibcast(name.data(), static_cast<int>(name.size()), MPI_BYTE, 0, comm, request);
  });
  if (rank != 0) memory = map(name, bytes, false);
  int everywhere = memory != nullptr;
  with_retries("MPI_Iallreduce", [&](MPI_Request* request) {
    return MPI_Iallreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_MIN, comm, request);
  });
  if (rank == 0) shm_unlink(name.data());
  return everywhere ? std::make_shared<Mapped>(std::move(memory)) : nullptr;
}

}  // namespace sheaf::mpi
