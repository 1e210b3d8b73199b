/* sion.h: the only header that a client of the SION interface needs. It includes the MPI, OpenMP and
 * hybrid parts according to the macros MPI_VERSION (mpi.h was included before), SION_MPI, SION_OMP and
 * SION_OMPI. */
#ifndef SION_H
#define SION_H

#include "sion_const.h"

#include "sion_common.h"
#include "sion_generic.h"
#include "sion_serial.h"
#ifdef SION_OMP
#include "sion_omp.h"
#endif
#if defined(MPI_VERSION) || defined(SION_MPI)
#include "sion_mpi.h"
#endif
#if defined(MPI_VERSION) || defined(SION_OMPI)
#include "sion_ompi.h"
#endif
#include "sion_libversion_rep.h"

#endif
