/* Multifiles in programs that bring their own communication: the program registers callbacks with an API
 * object, then opens multifiles on groups of tasks that it names by opaque pointers (docs/api-generic.md).
 *
 * Callbacks return 0 for success. Anything else is a failure, which ends the call they serve: every task gets
 * the error, as far as the callbacks can still tell it, and all later collective calls on the multifile fail
 * at once. dtype is _SION_INT32, _SION_INT64 or _SION_CHAR; counts are elements. Callbacks are called by the
 * thread that called the library, in the same order on all tasks of a group. */
#ifndef SION_GENERIC_H
#define SION_GENERIC_H

#include <stdio.h>

#include "sion_datatypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A new API object without callbacks. Local. Id >= 0; -1 if name is NULL. */
int sion_generic_create_api(char* name);

/* Frees it; multifiles that are open keep working. 1; 0 for an invalid id. */
int sion_generic_free_api(int aid);

/* Registration of callbacks. Local. 1; 0 if the id is invalid, the callback NULL or set already. */

/* Makes the group of the lsize tasks of physical file `filenumber` of numfiles out of the group gcg, in which
 * this task is grank of gsize; it is lrank there. Stores it in *lcg. Called once per open, collective over
 * gcg. */
int sion_generic_register_create_local_commgroup_cb(int aid,
                                                    int create_lcg_cb(void** lcg, void* gcg, int grank,
                                                                      int gsize, int lrank, int lsize,
                                                                      int filenumber, int numfiles));
/* Frees what that made. Called once per multifile, when it is closed. */
int sion_generic_register_free_local_commgroup_cb(int aid, int free_lcg_cb(void* lcg));
/* Returns when all tasks of the group have called. */
int sion_generic_register_barrier_cb(int aid, int barrier_cb(void* cg));
/* nelem elements of task root to all. */
int sion_generic_register_bcastr_cb(int aid,
                                    int bcastr_cb(void* data, void* cg, int dtype, int nelem, int root));
/* nelem elements of each task to `out` of root, in the order of ranks. */
int sion_generic_register_gatherr_cb(int aid, int gatherr_cb(void* in, void* out, void* cg, int dtype,
                                                             int nelem, int root));
/* The same with nelem of its own on each task; counts[rank] is given at root. */
int sion_generic_register_gathervr_cb(int aid, int gathervr_cb(void* in, void* out, void* cg, int dtype,
                                                               int* counts, int nelem, int root));
/* nelem elements of `in` at root to `out` of each task, in the order of ranks. */
int sion_generic_register_scatterr_cb(int aid, int scatterr_cb(void* in, void* out, void* cg, int dtype,
                                                               int nelem, int root));
/* The same with nelem of its own on each task; counts[rank] is given at root. The receive buffer comes first.
 */
int sion_generic_register_scattervr_cb(int aid,
                                       int scattervr_cb(void* recvdata, void* senddata, void* cg, int dtype,
                                                        int* counts, int nelem, int root));

/* Optional: name of a physical file, allocated with malloc; should be fname itself for 0. Local. 0; -1 for an
 * invalid id, or if set already. */
int sion_generic_register_get_multi_filename_cb(int aid, char* get_multi_filename_cb(const char* fname,
                                                                                     int filenumber));

/* Optional: how collective I/O ships data between a collector and its senders, and whether a task may
 * collect. */
int sion_generic_register_gather_and_execute_cb(
    int aid, int gather_execute_cb(const void* data, sion_int64* spec, int spec_len, sion_int64 fsblksize,
                                   void* lcg, int collector, int firstsender, int lastsender, int sid,
                                   int process_cb(const void*, sion_int64*, int)));
int sion_generic_register_execute_and_scatter_cb(
    int aid, int execute_scatter_cb(void* data, sion_int64* spec, int spec_len, sion_int64 fsblksize,
                                    void* lcg, int collector, int firstsender, int lastsender, int sid,
                                    int process_cb(void*, sion_int64*, int)));
int sion_generic_register_get_capability_cb(int aid, int get_capability_cb(void* cg));

/* Opens a multifile. Collective over gcommgroup, in which this task is grank of gsize.
 * Write. In: *chunksize, *fsblksize as in sion_paropen_mpi; the placement: the task is *lrank of *lsize in
 * physical file *filenumber of *numfiles. Out: *fsblksize. The tasks of a single file keep the order of
 * grank. Read: as many tasks as the multifile has. Out: *chunksize, *fsblksize, *filenumber, *numfiles (both
 * may be NULL); lrank and lsize are not looked at. fileptr, newfname: as in sion_paropen_mpi. Returns a
 * handle >= 0 or -1. */
int sion_generic_paropen(int aid, const char* fname, const char* file_mode, sion_int64* chunksize,
                         sion_int32* fsblksize, void* gcommgroup, int grank, int gsize, int* filenumber,
                         int* numfiles, const int* lrank, const int* lsize, FILE** fileptr, char** newfname);

/* Collective over the tasks of a physical file (any parallel handle): sion_fwrite and sion_fread for many
 * small requests, which reach the file through a few collectors if the open mode or the environment says so
 * (docs/api-collective.md); without, they are the same as sion_fwrite and sion_fread. Requests may differ
 * between the tasks, be larger than a chunk, and be empty. Items, (size_t)-1 for an invalid handle, 0 for an
 * error: one that happens while bytes travel is returned on all tasks of the physical file. */
size_t sion_coll_fwrite(const void* data, size_t size, size_t nitems, int sid);
size_t sion_coll_fread(void* data, size_t size, size_t nitems, int sid);

/* Closes; in write mode this completes the files. Collective. 1, -1 invalid handle, 0 otherwise, also on all
 * tasks if a write of any has failed and was not repeated: the files are not complete then. */
int sion_generic_parclose(int sid);

/* Write mode, before anything was written: another chunk size in bytes for this task. Collective. 1, 0 or -1.
 */
int sion_generic_parreinit(int sid, sion_int64 chunksize);

/* Mapped access: the task grank of gsize has several tasks of the multifile in its hands; arguments and
 * results as in sion_paropen_mapped_mpi. No local groups are made. Collective over gcommgroup. Handle >= 0,
 * or -1 on every task. */
int sion_generic_paropen_mapped(int aid, char* fname, const char* file_mode, int* numFiles, void* gcommgroup,
                                int grank, int gsize, int* nlocaltasks, int** globalranks,
                                sion_int64** chunksizes, int** mapping_filenrs, int** mapping_lranks,
                                sion_int32* fsblksize, FILE** fileptr);

/* Closes; in write mode this completes the files. 1, -1 invalid handle, 0 otherwise. */
int sion_generic_parclose_mapped(int sid);

#ifdef __cplusplus
}
#endif
#endif
