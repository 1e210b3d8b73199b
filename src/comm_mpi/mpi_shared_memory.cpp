#include "comm_mpi/mpi_shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/random.hpp"
#include "comm_mpi/mpi_calls.hpp"
#include "comm_mpi/mpi_patience.hpp"

namespace sheaf::mpi {

namespace {

using Name = std::array<char, 64>;

class Mapped final : public SharedMemory {
 public:
  explicit Mapped(std::span<std::byte> bytes) : bytes_(bytes) {}
  ~Mapped() override { munmap(bytes_.data(), bytes_.size()); }

  std::span<std::byte> bytes() const override { return bytes_; }

 private:
  const std::span<std::byte> bytes_;
};

// Of that name; of so many zeros if it is to be made. Null if it cannot be had. Allocated now: a lack of
// memory would else show as a signal later.
std::shared_ptr<SharedMemory> map(const Name& name, size_t bytes, bool make) {
  const int file = shm_open(name.data(), O_RDWR | O_CLOEXEC | (make ? O_CREAT | O_EXCL : 0), 0600);
  if (file < 0) return nullptr;
  const bool there = !make || posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0;
  void* const at = there ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  ::close(file);
  if (at == MAP_FAILED) return nullptr;
  return std::make_shared<Mapped>(std::span(static_cast<std::byte*>(at), bytes));
}

}  // namespace

std::shared_ptr<SharedMemory> share_memory(MPI_Comm comm, size_t bytes) {
  const int rank = rank_in(comm);
  Name name{};
  std::shared_ptr<SharedMemory> memory;
  if (rank == 0) {
    std::snprintf(name.data(), name.size(), "/sheaf.%ld.%016llx", static_cast<long>(getpid()),
                  static_cast<unsigned long long>(random_number()));
    memory = map(name, bytes, true);
  }
  patiently("MPI_Ibcast", [&](MPI_Request* request) {
    return MPI_Ibcast(name.data(), static_cast<int>(name.size()), MPI_BYTE, 0, comm, request);
  });
  if (rank != 0) memory = map(name, bytes, false);
  int everywhere = memory != nullptr;
  patiently("MPI_Iallreduce", [&](MPI_Request* request) {
    return MPI_Iallreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_MIN, comm, request);
  });
  if (rank == 0) shm_unlink(name.data());
  return everywhere ? memory : nullptr;
}

}  // namespace sheaf::mpi
