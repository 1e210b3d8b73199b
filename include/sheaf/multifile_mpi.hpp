// sheaf/multifile_mpi: multifiles in MPI programs; every process is one task. Opening and closing are
// collective over the communicator. If they fail, they throw on all tasks.
//
//   sheaf::mpi::MultifileWriter out("data.sion", MPI_COMM_WORLD, {.chunk_size = bytes_per_task});
//   out.write(std::span(particles));
//   out.close();
#pragma once

#include <mpi.h>

#include "../sion_mpi.h"
#include "stream.hpp"

namespace sheaf {
inline namespace v1 {
namespace mpi {

struct WriteOptions {
  std::int64_t chunk_size = 0;          // bytes of this task
  int files = 1;                        // number of physical files; 0: one for each `file_group`
  MPI_Comm file_group = MPI_COMM_NULL;  // tasks that share a file if `files` is 0; MPI_COMM_NULL: all tasks
  int block_size = -1;                  // bytes, the same on all tasks; -1: that of the file system
  std::string words = {};               // additional words of the open mode, for example "durable"
};

// Properties of the multifile as found or chosen by an open call.
struct Opened {
  int files = 0;                // number of physical files
  std::int64_t chunk_size = 0;  // bytes, of this task
  int block_size = 0;           // bytes
  int task = -1;                // number of this task
};

namespace detail {

using sheaf::v1::detail::Handle;
using sheaf::v1::detail::mode;

inline Handle open(const std::string& path, const std::string& mode, MPI_Comm comm, MPI_Comm group,
                   Opened& opened) {
  sion_int64 chunk_size = opened.chunk_size;
  const int sid = sion_paropen_mpi(path.c_str(), mode.c_str(), &opened.files, comm, &group, &chunk_size,
                                   &opened.block_size, &opened.task, nullptr, nullptr);
  opened.chunk_size = chunk_size;
  return {sid, sion_parclose_mpi, true};
}

}  // namespace detail

// Creates a multifile and writes the stream of the calling task.
class MultifileWriter : public OutputStream {
 public:
  MultifileWriter(const std::string& path, MPI_Comm comm, const WriteOptions& options)
      : MultifileWriter(path, comm, options,
                        Opened{options.files, options.chunk_size, options.block_size, -1}) {}

  // Return the task number, and the block size in bytes.
  int task() const { return opened_.task; }
  int block_size() const { return opened_.block_size; }

  // Changes the chunk size of this task to `chunk_size` bytes. Collective; must precede the first write.
  void resize(std::int64_t chunk_size) {
    if (sion_parreinit_mpi(handle(), chunk_size) != SION_SUCCESS) throw Error::last();
  }

 private:
  MultifileWriter(const std::string& path, MPI_Comm comm, const WriteOptions& options, Opened opened)
      : OutputStream(detail::open(path, detail::mode("wb", options.words), comm, options.file_group, opened)),
        opened_(opened) {}

  Opened opened_;
};

// Reads the stream of the calling task. The number of tasks must be the same as at the write.
class MultifileReader : public InputStream {
 public:
  MultifileReader(const std::string& path, MPI_Comm comm, const std::string& words = "")
      : MultifileReader(path, comm, words, Opened{}) {}

  // Return the task number, and the chunk size and the block size in bytes.
  int task() const { return opened_.task; }
  std::int64_t chunk_size() const { return opened_.chunk_size; }
  int block_size() const { return opened_.block_size; }

 private:
  MultifileReader(const std::string& path, MPI_Comm comm, const std::string& words, Opened opened)
      : InputStream(detail::open(path, detail::mode("rb", words), comm, MPI_COMM_NULL, opened)),
        opened_(opened) {}

  Opened opened_;
};

}  // namespace mpi
}  // namespace v1
}  // namespace sheaf
