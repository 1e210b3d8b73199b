/* Serial open and close of multifiles. All calls are local. */
#ifndef SION_SERIAL_H
#define SION_SERIAL_H

#include <stdio.h>

#include "sion_datatypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a multifile in one process with access to all its tasks. Task 0 becomes the current task.
 *
 * Writing (wb) creates one physical file.
 * - In: *ntasks >= 0; *nfiles <= 1; (*chunksizes)[*ntasks] in bytes, each >= 0; (*globalranks)[*ntasks],
 *   numbers to store; *fsblksize in bytes, <= 0 selects that of the file system. The caller keeps the
 *   arrays.
 * - Out: *fsblksize.
 *
 * Reading (rb, or neither word) opens the whole set if `fname` is its first physical file.
 * - Out: *ntasks, *nfiles, *fsblksize, and the arrays *chunksizes and *globalranks. An array is skipped if
 *   the argument is NULL. If the argument points to NULL, the array is allocated with malloc and the
 *   caller frees it. Otherwise the existing array is filled.
 *
 * `fileptr` may be NULL, which is faster. Otherwise *fileptr is set to a stdio stream at the current
 * position, owned by the library, or to NULL in posix mode. Returns a handle >= 0, or -1 with a message. */
int sion_open(char* fname, const char* file_mode, int* ntasks, int* nfiles, sion_int64** chunksizes,
              sion_int32* fsblksize, int** globalranks, FILE** fileptr);

/* Opens the stream of task *rank (0..ntasks-1 of the whole multifile) for reading. Reads only the metadata
 * of this task. Out: *chunksize and *fsblksize in bytes, and *fileptr (the argument may be NULL). Returns
 * a handle, or -1. */
int sion_open_rank(char* fname, const char* file_mode, sion_int64* chunksize, sion_int32* fsblksize,
                   int* rank, FILE** fileptr);

/* Closes a handle of sion_open or sion_open_rank; in write mode completes the file. Returns 1, or 0 on
 * error. If a failed write was not repeated, returns 0 and leaves the file incomplete. */
int sion_close(int sid);

#ifdef __cplusplus
}
#endif
#endif
