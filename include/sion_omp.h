/* Multifiles in OpenMP programs: every thread of a team is one task, all in one physical file. Collective
 * over the current team: to be called by all its threads, outside worksharing, critical and single regions. A
 * call outside a parallel region is a team of one. Collective calls return the same outcome on every thread.
 */
#ifndef SION_OMP_H
#define SION_OMP_H

#include <stdio.h>

#include "sion_datatypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a multifile for writing (wb) or reading (rb); the task is the thread number. Every thread brings
 * variables of its own and gets a handle of its own. Write. In: *chunksize: bytes of this thread, >= 0.
 * *fsblksize: bytes, or -1 for the file system's; the same everywhere. Out: *fsblksize, *globalrank: the
 * thread number (argument may be NULL). Read: as many threads as the multifile has tasks. Out: *chunksize,
 * *fsblksize; *globalrank is not touched. fileptr, newfname: as in sion_paropen_mpi. Returns a handle >= 0,
 * or -1 on every thread; fileptr and newfname are not touched then. */
int sion_paropen_omp(const char* fname, const char* file_mode, sion_int64* chunksize, sion_int32* fsblksize,
                     int* globalrank, FILE** fileptr, char** newfname);

/* Closes; in write mode this completes the file. 1; 0 on error, also on all threads if a write of any has
 * failed and was not repeated: the file is not complete then. If a thread brings an invalid handle, or the
 * team is not as large as that which opened, all threads get 0 at once and nothing is closed. */
int sion_parclose_omp(int sid);

#ifdef __cplusplus
}
#endif
#endif
