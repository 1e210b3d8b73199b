// comm/mpi/mpi_messages: messages between the ranks of an MPI communicator. Pieces of memory are sent as one
// MPI derived datatype, created for the message and freed with it (SFIO paper, section 3: mkbset).
#pragma once

#include <mpi.h>

#include <memory>

#include "base/export.hpp"
#include "comm/messages.hpp"

namespace sheaf {

class MpiMessages : public Messages {
 public:
  // Returns the communicator in use, which this object owns. Another copy of this code in the process can use
  // it through mpi_messages_on().
  virtual MPI_Comm comm() const = 0;
};

// Creates messages between the tasks of `comm`, on a duplicate of `comm`. Collective over `comm`. The
// destructor, which is collective, frees the duplicate unless MPI has been finalized. Objects created from
// the same communicator do not receive each other's messages. Several threads may use them at once under
// MPI_THREAD_MULTIPLE.
SHEAF_EXPORT std::unique_ptr<MpiMessages> mpi_messages(MPI_Comm comm);

// Local. Creates another object on the communicator of an existing one, for another thread of this task. The
// existing object must outlive it.
SHEAF_EXPORT std::unique_ptr<MpiMessages> mpi_messages_on(MPI_Comm duplicate);

}  // namespace sheaf
