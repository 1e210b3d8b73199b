/* Multifiles in OpenMP programs: every thread of a team is one task, and all tasks share one physical
 * file.
 *
 * All calls are collective over the current team. All threads of the team must make the call, outside
 * worksharing, critical and single regions. Outside a parallel region the team is one thread. Calls
 * succeed or fail on all threads alike. */
#ifndef SION_OMP_H
#define SION_OMP_H

#include <stdio.h>

#include "sion_datatypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a multifile for writing (wb) or reading (rb); the task is the thread number. Every thread passes
 * its own variables and gets its own handle.
 *
 * Writing:
 * - In: *chunksize in bytes for this thread, >= 0. *fsblksize in bytes, the same on all threads; -1
 *   selects that of the file system.
 * - Out: *fsblksize, and *globalrank, the thread number (the argument may be NULL).
 *
 * Reading requires as many threads as the multifile has tasks.
 * - Out: *chunksize, *fsblksize; *globalrank is unchanged.
 *
 * `fileptr` and `newfname` are as in sion_paropen_mpi. Returns a handle >= 0. On error returns -1 on every
 * thread and leaves *fileptr and *newfname unchanged. */
int sion_paropen_omp(const char* fname, const char* file_mode, sion_int64* chunksize, sion_int32* fsblksize,
                     int* globalrank, FILE** fileptr, char** newfname);

/* Closes the multifile; in write mode completes the file. Returns 1, or 0 on error. If a failed write of
 * any thread was not repeated, returns 0 on all threads and leaves the file incomplete. If a thread
 * passes an invalid handle, or the team size differs from that at the open, returns 0 on all threads
 * without closing. */
int sion_parclose_omp(int sid);

#ifdef __cplusplus
}
#endif
#endif
