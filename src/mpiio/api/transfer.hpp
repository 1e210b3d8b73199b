// mpiio/api/transfer: one read or write of the program. Converts the arguments of the call to bytes of the
// view's stream, and the result back to bytes of the program's memory.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mpiio/api/handles.hpp"

namespace sheaf::mpiio {

enum class TransferDirection : uint8_t { read, write };

// User buffer of a call.
struct Buffer {
  void* address = nullptr;
  int64_t count = 0;
  MPI_Datatype type = MPI_BYTE;
};

// A transfer that may run later and on another thread. The constructor copies from the file and the arguments
// all that the transfer needs. The file and the memory must stay valid until the transfer has run.
class FileTransfer {
 public:
  // Validates the arguments. Local. Throws MpiError for what the standard forbids: MPI_ERR_ACCESS,
  // MPI_ERR_READ_ONLY, MPI_ERR_COUNT, MPI_ERR_TYPE, or MPI_ERR_IO for a partial etype. If `later` is true,
  // the program may free the datatype before the transfer runs.
  FileTransfer(MpiFile& file, TransferDirection way, const Buffer& buffer, bool later = false);

  int64_t bytes() const { return memory_.type.size() * memory_.count; }  // in the view's stream
  // Sets the start of the transfer in the view's stream. Must precede alone() and together().
  void place(int64_t position) { position_ = position; }

  // Run the transfer: alone() as a local transfer, together() as a collective one on a sequence of the file.
  // Return the number of bytes in the program's memory.
  int64_t alone();
  int64_t together(Sequence& sequence);

 private:
  Source source() const { return {memory_.address, memory_.type, memory_.count}; }
  int64_t finish(int64_t bytes);

  SharedFile& file_;
  TransferDirection way_;
  std::shared_ptr<const View> view_;
  Destination memory_;  // memory with the bytes in file representation
  int64_t position_ = 0;
  // For representations other than native: the bytes in file representation, and their place in the program's
  // memory.
  std::shared_ptr<const Datarep> datarep_;
  std::vector<std::byte> converted_;
  Buffer program_;
  KeptType kept_;
};

}  // namespace sheaf::mpiio
