// comm_mpi/mpi_messages: messages between the ranks of an MPI communicator. Pieces of memory travel as one
// MPI derived datatype, made for the message and freed with it (SFIO paper, section 3: mkbset).
#pragma once

#include <mpi.h>

#include <memory>

#include "comm/messages.hpp"

namespace sheaf {

// Collective over `comm`, of which it makes a duplicate; freed by the destructor (collective too) unless MPI
// has been finalized. Two of them from one communicator do not hear each other. From several threads at once:
// MPI_THREAD_MULTIPLE.
SHEAF_EXPORT std::unique_ptr<Messages> mpi_messages(MPI_Comm comm);

// Another one that talks on the same duplicate, for another thread of this task. `messages` must be of
// mpi_messages() and outlive it. Local.
SHEAF_EXPORT std::unique_ptr<Messages> another_of(Messages& messages);

// The duplicate, and one that talks on it from elsewhere in the process: another copy of this code. Local.
SHEAF_EXPORT MPI_Comm comm_of(Messages& messages);
SHEAF_EXPORT std::unique_ptr<Messages> mpi_messages_on(MPI_Comm duplicate);

}  // namespace sheaf
