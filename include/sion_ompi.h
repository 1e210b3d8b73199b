/* Multifiles in hybrid programs: every thread of the OpenMP team of every MPI process is one task, with
 * the number process * threads + thread.
 *
 * All calls are collective over all threads of all processes, with teams of the same size in every
 * process. Only the master thread calls MPI, so MPI_THREAD_FUNNELED suffices. Calls succeed or fail on
 * all tasks alike. */
#ifndef SION_OMPI_H
#define SION_OMPI_H

#include <mpi.h>
#include <stdio.h>

#include "sion_datatypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a multifile as sion_paropen_mpi does, with one stream for each thread. *numFiles and *lComm refer
 * to processes: all threads of a process use the same file. Only the master thread's numFiles, gComm and
 * lComm are used. Sets *globalrank to the number of the task. Every thread passes its own variables
 * (numFiles may be shared) and gets its own handle. Returns a handle >= 0, or -1 on every task. */
int sion_paropen_ompi(const char* fname, const char* file_mode, int* numFiles, MPI_Comm gComm,
                      const MPI_Comm* lComm, sion_int64* chunksize, sion_int32* fsblksize, int* globalrank,
                      FILE** fileptr, char** newfname);

/* Closes the multifile. Returns 1, -1 if the handle is invalid, 0 on any other error. If a thread passes
 * an invalid handle, or the team size differs from that at the open, all threads of this team return an
 * error without closing. */
int sion_parclose_ompi(int sid);

#ifdef __cplusplus
}
#endif
#endif
