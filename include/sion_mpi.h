/* Multifiles in MPI programs: every process is one task. Collective over the communicator given at open,
 * unless marked local; collective calls return the same outcome on every task. */
#ifndef SION_MPI_H
#define SION_MPI_H

#include <mpi.h>
#include <stdio.h>

#include "sion_datatypes.h"
#include "sion_datatypes_mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a multifile for writing (wb) or reading (rb); see docs/api-sion.md for the words of file_mode.
 * Write. In: *numFiles > 0: that many physical files, filled with consecutive tasks; <= 0: one per *lComm
 *   (MPI_COMM_NULL: all tasks share one). *chunksize: bytes of this task, >= 0. *fsblksize: bytes, or -1 for
 * the file system's; the same everywhere. Out: *numFiles, *fsblksize, *globalrank. Read: as many tasks as the
 * multifile has. Out: *numFiles, *chunksize, *fsblksize, *globalrank. fileptr: NULL if not wanted (faster);
 * else out: a stdio stream at the task's first byte, NULL in posix mode. newfname: NULL, or out: name of this
 * task's physical file, allocated with malloc for the caller to free. Returns a handle >= 0, or -1 on every
 * task; fileptr and newfname are not touched then. */
int sion_paropen_mpi(const char* fname, const char* file_mode, int* numFiles, MPI_Comm gComm,
                     const MPI_Comm* lComm, sion_int64* chunksize, sion_int32* fsblksize, int* globalrank,
                     FILE** fileptr, char** newfname);

/* Closes; in write mode this completes the files. 1, -1 invalid handle, 0 otherwise, also on all tasks if a
 * write of any has failed and was not repeated: the files are not complete then. */
int sion_parclose_mpi(int sid);

/* Write mode, before anything was written: gives this task another chunk size in bytes. 1, 0 or -1 as above.
 */
int sion_parreinit_mpi(int sid, sion_int64 chunksize);

/* Mapped access: every process has several tasks in its hands, each at a place (file, local rank) of its own
 * choice; docs/api-mapped.md. The current task is chosen with sion_seek(sid, globalrank, ...), at first the
 * first one. Write. In: *numFiles > 0; *nlocaltasks >= 0 tasks of this process and for each (*globalranks)[i]
 * (over all processes 0..M-1), (*chunksizes)[i], (*mapping_filenrs)[i], (*mapping_lranks)[i] (0..n-1 in each
 * file); *fsblksize as above. The arrays are not changed. Out: *fsblksize, that of the first local task.
 * Read, by any number of processes. In: *nlocaltasks >= 0: the tasks (*globalranks)[i]; -1: blockwise. Out:
 * *numFiles, *nlocaltasks, *fsblksize and the arrays: argument NULL: skipped, pointing to NULL: allocated
 * with malloc for the caller to free, else filled. Returns a handle >= 0, or -1 on every process. */
int sion_paropen_mapped_mpi(char* fname, const char* file_mode, int* numFiles, MPI_Comm gComm,
                            int* nlocaltasks, int** globalranks, sion_int64** chunksizes,
                            int** mapping_filenrs, int** mapping_lranks, sion_int32* fsblksize,
                            FILE** fileptr);

/* Closes; in write mode this completes the files. 1, -1 invalid handle, 0 otherwise. */
int sion_parclose_mapped_mpi(int sid);

/* Deprecated forms of sion_paropen_mpi; newfname is ignored. The first one writes one file per lComm. */
int sion_paropen_comms_mpi(char* fname, const char* file_mode, int* numFiles, MPI_Comm gComm, MPI_Comm lComm,
                           sion_int64* chunksize, sion_int32* fsblksize, int* globalrank, FILE** fileptr,
                           char* newfname);
int sion_paropen_multi_mpi(char* fname, const char* file_mode, int* numFiles, MPI_Comm gComm, MPI_Comm* lComm,
                           sion_int64* chunksize, sion_int32* fsblksize, int* globalrank, FILE** fileptr,
                           char* newfname);

/* Deprecated: let the tasks of a physical file through in steps of SION_SERBLOCKSIZE tasks. 1 or 0. */
int sion_startof_transaction_mpi(int sid);
int sion_endof_transaction_mpi(int sid);

/* Deprecated names of sion_coll_fwrite and sion_coll_fread (sion_generic.h). */
size_t sion_coll_fwrite_mpi(const void* data, size_t size, size_t nitems, int sid);
size_t sion_coll_fread_mpi(void* data, size_t size, size_t nitems, int sid);

/* Arguments of sion_file_check_par_cb_mpi. Local; NULL on failure. */
typedef struct _sion_file_check_par_args_mpi_struct sion_file_check_par_args_mpi;
sion_file_check_par_args_mpi* sion_file_check_par_args_init_mpi(const char* file_mode, MPI_Comm gComm,
                                                                int numfiles, MPI_Comm lComm);
int sion_file_check_par_args_free_mpi(sion_file_check_par_args_mpi* args);

/* Whether the multifile can be opened, without messages: 1 or 0. Shaped as a callback of checkpoint managers.
 */
int sion_file_check_par_cb_mpi(char* fname, void* args);

#ifdef __cplusplus
}
#endif
#endif
