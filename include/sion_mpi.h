/* Multifiles in MPI programs: every process is one task. Unless marked local, calls are collective over
 * the communicator of the open. They succeed or fail on all tasks alike. */
#ifndef SION_MPI_H
#define SION_MPI_H

#include <mpi.h>
#include <stdio.h>

#include "sion_datatypes.h"
#include "sion_datatypes_mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a multifile for writing (wb) or reading (rb); docs/api-sion.md lists the words of file_mode.
 *
 * Writing:
 * - In: *numFiles > 0: number of physical files, filled with consecutive tasks; <= 0: one file for each
 *   *lComm, where MPI_COMM_NULL makes all tasks share one.
 * - In: *chunksize in bytes for this task, >= 0. *fsblksize in bytes, the same on all tasks; -1 selects
 *   that of the file system.
 * - Out: *numFiles, *fsblksize, *globalrank.
 *
 * Reading requires as many tasks as the multifile has.
 * - Out: *numFiles, *chunksize, *fsblksize, *globalrank.
 *
 * `fileptr` may be NULL, which is faster. Otherwise *fileptr is set to a stdio stream at the first byte of
 * the task, or to NULL in posix mode. `newfname` may be NULL. Otherwise *newfname is set to the name of
 * the physical file of this task, allocated with malloc; the caller frees it. Returns a handle >= 0. On
 * error returns -1 on every task and leaves *fileptr and *newfname unchanged. */
int sion_paropen_mpi(const char* fname, const char* file_mode, int* numFiles, MPI_Comm gComm,
                     const MPI_Comm* lComm, sion_int64* chunksize, sion_int32* fsblksize, int* globalrank,
                     FILE** fileptr, char** newfname);

/* Closes the multifile; in write mode completes the files. Returns 1, -1 if the handle is invalid, 0 on
 * any other error. If a failed write of any task was not repeated, returns 0 on all tasks and leaves the
 * files incomplete. */
int sion_parclose_mpi(int sid);

/* Changes the chunk size of this task, in bytes. Write mode only, before the first write. Returns 1, -1
 * if the handle is invalid, 0 on any other error. */
int sion_parreinit_mpi(int sid, sion_int64 chunksize);

/* Opens a multifile with mapped access: every process accesses several tasks, each at any place (file,
 * local rank); docs/api-mapped.md. sion_seek(sid, globalrank, ...) selects the current task, initially the
 * first one.
 *
 * Writing:
 * - In: *numFiles > 0 and *nlocaltasks >= 0, the number of tasks of this process.
 * - In: for each task of this process (*globalranks)[i] (0..M-1 over all processes), (*chunksizes)[i],
 *   (*mapping_filenrs)[i] and (*mapping_lranks)[i] (0..n-1 in each file). The arrays are not changed.
 * - In: *fsblksize as in sion_paropen_mpi.
 * - Out: *fsblksize, the block size of the file of the first local task.
 *
 * Reading works with any number of processes.
 * - In: *nlocaltasks >= 0 selects the tasks (*globalranks)[i]; -1 distributes the tasks blockwise.
 * - Out: *numFiles, *nlocaltasks, *fsblksize and the arrays. An array is skipped if the argument is NULL.
 *   If the argument points to NULL, the array is allocated with malloc and the caller frees it. Otherwise
 *   the existing array is filled.
 *
 * Returns a handle >= 0, or -1 on every process. */
int sion_paropen_mapped_mpi(char* fname, const char* file_mode, int* numFiles, MPI_Comm gComm,
                            int* nlocaltasks, int** globalranks, sion_int64** chunksizes,
                            int** mapping_filenrs, int** mapping_lranks, sion_int32* fsblksize,
                            FILE** fileptr);

/* Closes the multifile; in write mode completes the files. Returns 1, -1 if the handle is invalid, 0 on
 * any other error. */
int sion_parclose_mapped_mpi(int sid);

/* Deprecated forms of sion_paropen_mpi; newfname is ignored. sion_paropen_comms_mpi writes one file for
 * each lComm. */
int sion_paropen_comms_mpi(char* fname, const char* file_mode, int* numFiles, MPI_Comm gComm, MPI_Comm lComm,
                           sion_int64* chunksize, sion_int32* fsblksize, int* globalrank, FILE** fileptr,
                           char* newfname);
int sion_paropen_multi_mpi(char* fname, const char* file_mode, int* numFiles, MPI_Comm gComm, MPI_Comm* lComm,
                           sion_int64* chunksize, sion_int32* fsblksize, int* globalrank, FILE** fileptr,
                           char* newfname);

/* Deprecated: let the tasks of a physical file proceed in groups of SION_SERBLOCKSIZE tasks. Return 1 or
 * 0. */
int sion_startof_transaction_mpi(int sid);
int sion_endof_transaction_mpi(int sid);

/* Deprecated names of sion_coll_fwrite and sion_coll_fread (sion_generic.h). */
size_t sion_coll_fwrite_mpi(const void* data, size_t size, size_t nitems, int sid);
size_t sion_coll_fread_mpi(void* data, size_t size, size_t nitems, int sid);

/* Arguments of sion_file_check_par_cb_mpi. */
typedef struct _sion_file_check_par_args_mpi_struct sion_file_check_par_args_mpi;

/* Creates the arguments. Local. Returns NULL on failure. The caller releases the result with
 * sion_file_check_par_args_free_mpi, which returns 1. */
sion_file_check_par_args_mpi* sion_file_check_par_args_init_mpi(const char* file_mode, MPI_Comm gComm,
                                                                int numfiles, MPI_Comm lComm);
int sion_file_check_par_args_free_mpi(sion_file_check_par_args_mpi* args);

/* Checks without messages whether the multifile can be opened. Returns 1 or 0. Checkpoint managers can
 * use the function as a callback. */
int sion_file_check_par_cb_mpi(char* fname, void* args);

#ifdef __cplusplus
}
#endif
#endif
