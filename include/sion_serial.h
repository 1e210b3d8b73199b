/* Serial open and close of multifiles. Local calls. */
#ifndef SION_SERIAL_H
#define SION_SERIAL_H

#include <stdio.h>

#include "sion_datatypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a multifile in one process, with access to all its tasks; task 0 is the current one.
 * Write (wb): creates one physical file. In: *ntasks >= 0, *nfiles <= 1, (*chunksizes)[*ntasks] bytes >= 0
 * each,
 *   (*globalranks)[*ntasks] ids to store, *fsblksize bytes (<= 0: the file system's). Out: *fsblksize. The
 * arrays stay the caller's. Read (rb, or no such word): opens the whole set if fname is its first physical
 * file. Out: *ntasks, *nfiles, *fsblksize; *chunksizes and *globalranks are skipped (argument NULL),
 * allocated with malloc for the caller to free (pointing to NULL) or filled. fileptr: NULL if the stream is
 * not wanted (faster); else out: a stdio stream at the current position, NULL in posix mode. Owned by the
 * library. Returns a handle >= 0, or -1 with a message. */
int sion_open(char* fname, const char* file_mode, int* ntasks, int* nfiles, sion_int64** chunksizes,
              sion_int32* fsblksize, int** globalranks, FILE** fileptr);

/* Opens the stream of task *rank (0..ntasks-1 of the whole multifile) for reading. Reads only the metadata
 * that this task needs. Out: *chunksize, *fsblksize (bytes), *fileptr (argument may be NULL). Handle or -1.
 */
int sion_open_rank(char* fname, const char* file_mode, sion_int64* chunksize, sion_int32* fsblksize,
                   int* rank, FILE** fileptr);

/* Closes a handle of the two calls above; in write mode this completes the file. 1, or 0 on error, also if a
 * write has failed and was not repeated: the file is not complete then. */
int sion_close(int sid);

#ifdef __cplusplus
}
#endif
#endif
