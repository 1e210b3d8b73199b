/* sion.h: the only header that a client of the SION interface needs. It includes sion_mpi.h if SION_MPI
 * is defined, sion_omp.h if SION_OMP is defined, and sion_ompi.h if SION_OMPI is defined. If mpi.h was
 * included before, it includes sion_mpi.h and sion_ompi.h. */
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
