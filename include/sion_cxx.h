/* sion_cxx.h: the C++ classes of the SION interface. The serial class is in sion_cxx_serial.hpp; the MPI
 * class requires <mpi.h> to be included first. For new programs, sheaf/multifile.hpp is a safer interface. */
#ifndef SION_CXX_H
#define SION_CXX_H

#include "sion.h"
#include "sion_cxx_common.hpp"
#if defined(MPI_VERSION) || defined(SION_MPI)
#include "sion_cxx_mpi.hpp"
#endif

#endif
