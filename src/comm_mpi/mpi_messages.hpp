// comm_mpi/mpi_messages: messages between the ranks of an MPI communicator. Pieces of memory travel as one
// MPI derived datatype, made for the message and freed with it (SFIO paper, section 3: mkbset).
#pragma once

#include <mpi.h>

#include <memory>

#include "base/export.hpp"
#include "comm/messages.hpp"

namespace sheaf {

class MpiMessages : public Messages {
 public:
  // The communicator it talks on, its own; from elsewhere in the process (another copy of this code) talks on
  // it who makes mpi_messages_on().
  virtual MPI_Comm comm() const = 0;
};

// Collective over `comm`, of which it makes a duplicate; freed by the destructor (collective too) unless MPI
// has been finalized. Two of them from one communicator do not hear each other. From several threads at once:
// MPI_THREAD_MULTIPLE.
SHEAF_EXPORT std::unique_ptr<MpiMessages> mpi_messages(MPI_Comm comm);

// One that talks on the communicator of another, for another thread of this task; that must outlive it.
// Local.
SHEAF_EXPORT std::unique_ptr<MpiMessages> mpi_messages_on(MPI_Comm duplicate);

}  // namespace sheaf
