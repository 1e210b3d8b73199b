#include "comm/mpi_shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <utility>

#include "base/random.hpp"
#include "comm/mpi_patience.hpp"

namespace sheaf::mpi {

namespace {

using Name = std::array<char, 64>;

class Mapped final : public SharedMemory {
 public:
  // The memory of that name, of so many zeros if it is to be made; null if it cannot be had.
  static std::unique_ptr<Mapped> map(const Name& name, size_t bytes, bool make) {
    const int fd = shm_open(name.data(), O_RDWR | O_CLOEXEC | (make ? O_CREAT | O_EXCL : 0), 0600);
    if (fd < 0) return nullptr;
    const size_t size = lendable_size(bytes);
    void* memory = MAP_FAILED;
    // Allocated now: a full file system of this kind would else show as a signal later.
    if (!make || posix_fallocate(fd, 0, static_cast<off_t>(size)) == 0)
      memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
      ::close(fd);
      return nullptr;
    }
    if (make) make_lendable(static_cast<std::byte*>(memory), bytes);
    return std::unique_ptr<Mapped>(new Mapped(static_cast<std::byte*>(memory), bytes, fd));
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() override {
    munmap(memory_, lendable_size(bytes_));
    ::close(fd_);
  }

  std::span<std::byte> bytes() const override { return {memory_, bytes_}; }
  std::optional<LentMemory> lent() const override { return lend(memory_, bytes_, fd_); }

 private:
  Mapped(std::byte* memory, size_t bytes, int fd) : memory_(memory), bytes_(bytes), fd_(fd) {}

  std::byte* const memory_;
  const size_t bytes_;
  const int fd_;
};

}  // namespace

std::shared_ptr<SharedMemory> share_memory(MPI_Comm comm, size_t bytes) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  Name name{};
  std::unique_ptr<Mapped> memory;
  if (rank == 0) {
    std::snprintf(name.data(), name.size(), "/sheaf.%ld.%016llx", static_cast<long>(getpid()),
                  static_cast<unsigned long long>(random_number()));
    memory = Mapped::map(name, bytes, true);
  }
  patiently("MPI_Ibcast", [&](MPI_Request* request) {
    return MPI_Ibcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, comm, request);
  });
  if (rank != 0) memory = Mapped::map(name, bytes, false);
  int everywhere = memory != nullptr;
  patiently("MPI_Iallreduce", [&](MPI_Request* request) {
    return MPI_Iallreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_MIN, comm, request);
  });
  if (rank == 0) shm_unlink(name.data());
  return everywhere ? std::move(memory) : nullptr;
}

}  // namespace sheaf::mpi
