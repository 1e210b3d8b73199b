#include "comm/mpi_shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/random.hpp"
#include "comm/mpi_patience.hpp"

namespace sheaf::mpi {

namespace {

using Name = std::array<char, 64>;

// The memory of that name, of so many zeros if it is to be made; null if it cannot be had.
void* map(const Name& name, size_t bytes, bool make) {
  const int fd = shm_open(name.data(), O_RDWR | O_CLOEXEC | (make ? O_CREAT | O_EXCL : 0), 0600);
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  // Allocated now: a full file system of this kind would else show as a signal later.
  if (!make || posix_fallocate(fd, 0, static_cast<off_t>(bytes)) == 0)
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  return memory == MAP_FAILED ? nullptr : memory;
}

class Mapped final : public SharedMemory {
 public:
  Mapped(void* memory, size_t bytes) : memory_(static_cast<std::byte*>(memory)), bytes_(bytes) {}
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() override { munmap(memory_, bytes_); }

  std::span<std::byte> bytes() const override { return {memory_, bytes_}; }

 private:
  std::byte* const memory_;
  const size_t bytes_;
};

}  // namespace

std::shared_ptr<SharedMemory> share_memory(MPI_Comm comm, size_t bytes) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  Name name{};
  void* memory = nullptr;
  if (rank == 0) {
    std::snprintf(name.data(), name.size(), "/sheaf.%ld.%016llx", static_cast<long>(getpid()),
                  static_cast<unsigned long long>(random_number()));
    memory = map(name, bytes, true);
  }
  patiently("MPI_Ibcast", [&](MPI_Request* request) {
    return MPI_Ibcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, comm, request);
  });
  if (rank != 0) memory = map(name, bytes, false);
  int everywhere = memory != nullptr;
  patiently("MPI_Iallreduce", [&](MPI_Request* request) {
    return MPI_Iallreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_MIN, comm, request);
  });
  if (rank == 0) shm_unlink(name.data());
  if (everywhere) return std::make_shared<Mapped>(memory, bytes);
  if (memory) munmap(memory, bytes);
  return nullptr;
}

}  // namespace sheaf::mpi
