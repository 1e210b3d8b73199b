// api/mpiio/transfer: one read or write of the program, from its arguments to bytes of the view's stream and
// back.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "api/mpiio/handles.hpp"

namespace sheaf::mpiio {

enum class Way : uint8_t { reads, writes };

// The memory of a call.
struct Buffer {
  void* address = nullptr;
  int64_t count = 0;
  MPI_Datatype type = MPI_BYTE;
};

// Everything that a transfer needs is taken from the file and the arguments when it is made, so that it can
// be carried out later and on another thread; the file and the memory must live until then.
class Transfer {
 public:
  // Local. Throws MpiError for what the standard forbids: MPI_ERR_ACCESS, MPI_ERR_READ_ONLY, MPI_ERR_COUNT,
  // MPI_ERR_TYPE, MPI_ERR_IO for a part of an etype. `later`: the datatype may be gone when it is carried
  // out.
  Transfer(OpenFile& file, Way way, const Buffer& buffer, bool later = false);

  int64_t bytes() const { return memory_.type.size() * memory_.count; }  // of the view's stream
  // Where it begins in the view's stream. To be said before it is carried out.
  void place(int64_t position) { position_ = position; }

  // Carry it out: local, or collective on a sequence of the file. Return bytes of the program's memory.
  int64_t alone();
  int64_t together(Sequence& sequence);

 private:
  Source source() const { return {memory_.address, memory_.type, memory_.count}; }
  int64_t finish(int64_t bytes);

  SharedFile& file_;
  Way way_;
  std::shared_ptr<const View> view_;
  Destination memory_;  // of the bytes as the file has them
  int64_t position_ = 0;
  // For other representations than native: the bytes as the file has them, and where they belong in the
  // program's memory.
  std::shared_ptr<const Datarep> datarep_;
  std::vector<std::byte> converted_;
  Buffer program_;
  KeptType kept_;
};

}  // namespace sheaf::mpiio
