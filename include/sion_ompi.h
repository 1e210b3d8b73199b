/* Multifiles in hybrid programs: every thread of the OpenMP team of every MPI process is one task, number
 * process * threads + thread. To be called by all threads of all processes, with teams of the same size
 * everywhere. Only the master thread calls MPI: MPI_THREAD_FUNNELED is enough. Collective calls return the
 * same outcome on every task. */
#ifndef SION_OMPI_H
#define SION_OMPI_H

#include <mpi.h>
#include <stdio.h>

#include "sion_datatypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As sion_paropen_mpi, with a stream per thread. *numFiles and *lComm count processes: all threads of a
 * process are in the same file. numFiles, gComm and lComm are those of the master thread. Out: *globalrank:
 * number of the task. Every thread brings variables of its own (numFiles may be shared) and gets a handle of
 * its own. Returns a handle >= 0, or -1 on every task. */
int sion_paropen_ompi(const char* fname, const char* file_mode, int* numFiles, MPI_Comm gComm,
                      const MPI_Comm* lComm, sion_int64* chunksize, sion_int32* fsblksize, int* globalrank,
                      FILE** fileptr, char** newfname);

/* Closes. 1, -1 invalid handle, 0 otherwise. If a thread of a team brings an invalid handle, or the team is
 * not as large as that which opened, all its threads return at once and nothing is closed. */
int sion_parclose_ompi(int sid);

#ifdef __cplusplus
}
#endif
#endif
