/* Multifiles in programs with their own communication. The program registers callbacks with an API object,
 * then opens multifiles on groups of tasks, which it identifies by opaque pointers (docs/api-generic.md).
 *
 * Callbacks return 0 for success. Any other value is a failure, and the library call that needed the
 * callback fails. The library passes the error to every task that the callbacks can still reach. All
 * later collective calls on the multifile fail at once. `dtype` is _SION_INT32, _SION_INT64 or
 * _SION_CHAR; counts are in elements. The library calls callbacks on the thread that called the library,
 * in the same order on all tasks of a group. */
#ifndef SION_GENERIC_H
#define SION_GENERIC_H

#include <stdio.h>

#include "sion_datatypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Creates an API object without callbacks. Local. Returns an id >= 0, or -1 if `name` is NULL. */
int sion_generic_create_api(char* name);

/* Releases the API object; open multifiles remain usable. Returns 1, or 0 if the id is invalid. */
int sion_generic_free_api(int aid);

/* --- registration of callbacks ---
 *
 * The calls are local. They return 1, or 0 if the id is invalid or the callback is NULL or already
 * registered. */

/* Registers the callback that creates the group of the lsize tasks of physical file `filenumber` of
 * `numfiles` and stores it in *lcg. This task is grank of gsize in the parent group gcg, and lrank in the
 * new group. The callback is called once for each open, collectively over gcg. */
int sion_generic_register_create_local_commgroup_cb(int aid,
                                                    int create_lcg_cb(void** lcg, void* gcg, int grank,
                                                                      int gsize, int lrank, int lsize,
                                                                      int filenumber, int numfiles));
/* Registers the callback that releases a group created by the callback above. It is called once for each
 * multifile when the multifile is closed. */
int sion_generic_register_free_local_commgroup_cb(int aid, int free_lcg_cb(void* lcg));
/* Registers the callback that returns when all tasks of the group have called it. */
int sion_generic_register_barrier_cb(int aid, int barrier_cb(void* cg));
/* Registers the callback that broadcasts nelem elements from task `root` to all tasks. */
int sion_generic_register_bcastr_cb(int aid,
                                    int bcastr_cb(void* data, void* cg, int dtype, int nelem, int root));
/* Registers the callback that gathers nelem elements of each task into `out` of task `root`, in rank
 * order. */
int sion_generic_register_gatherr_cb(int aid, int gatherr_cb(void* in, void* out, void* cg, int dtype,
                                                             int nelem, int root));
/* Registers a callback like gatherr with a different nelem on each task; counts[rank] is valid at `root`. */
int sion_generic_register_gathervr_cb(int aid, int gathervr_cb(void* in, void* out, void* cg, int dtype,
                                                               int* counts, int nelem, int root));
/* Registers the callback that scatters `in` of task `root`: nelem elements to `out` of each task, in rank
 * order. */
int sion_generic_register_scatterr_cb(int aid, int scatterr_cb(void* in, void* out, void* cg, int dtype,
                                                               int nelem, int root));
/* Registers a callback like scatterr with a different nelem on each task; counts[rank] is valid at
 * `root`. The receive buffer is the first argument of the callback. */
int sion_generic_register_scattervr_cb(int aid,
                                       int scattervr_cb(void* recvdata, void* senddata, void* cg, int dtype,
                                                        int* counts, int nelem, int root));

/* Registers an optional callback that returns the name of a physical file, allocated with malloc. For
 * file 0 the callback should return `fname` itself. Local. Returns 0, or -1 if the id is invalid or the
 * callback is NULL or already registered. */
int sion_generic_register_get_multi_filename_cb(int aid, char* get_multi_filename_cb(const char* fname,
                                                                                     int filenumber));

/* Register optional callbacks for collective I/O. The first two transfer data between a collector and its
 * senders. The third returns whether a task may be a collector. */
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
 *
 * Writing:
 * - In: *chunksize and *fsblksize as in sion_paropen_mpi. Placement: the task is *lrank of *lsize in
 *   physical file *filenumber of *numfiles. The tasks of a single file keep the order of grank.
 * - Out: *fsblksize.
 *
 * Reading requires as many tasks as the multifile has.
 * - Out: *chunksize, *fsblksize, *filenumber and *numfiles (the last two arguments may be NULL); lrank and
 *   lsize are ignored.
 *
 * `fileptr` and `newfname` are as in sion_paropen_mpi. Returns a handle >= 0, or -1. */
int sion_generic_paropen(int aid, const char* fname, const char* file_mode, sion_int64* chunksize,
                         sion_int32* fsblksize, void* gcommgroup, int grank, int gsize, int* filenumber,
                         int* numfiles, const int* lrank, const int* lsize, FILE** fileptr, char** newfname);

/* Collective forms of sion_fwrite and sion_fread for many small requests, for any parallel handle.
 * Collective over the tasks of a physical file. If the open mode or the environment enables it, a few
 * collectors access the file for all tasks (docs/api-collective.md); otherwise the calls equal sion_fwrite
 * and sion_fread. Requests may differ between tasks, exceed the chunk size, and be empty. Return the
 * number of items, (size_t)-1 if the handle is invalid, or 0 on error. An error during the transfer
 * between tasks is returned on all tasks of the physical file. */
size_t sion_coll_fwrite(const void* data, size_t size, size_t nitems, int sid);
size_t sion_coll_fread(void* data, size_t size, size_t nitems, int sid);

/* Closes the multifile; in write mode completes the files. Collective. Returns 1, -1 if the handle is
 * invalid, 0 on any other error. If a failed write of any task was not repeated, returns 0 on all tasks
 * and leaves the files incomplete. */
int sion_generic_parclose(int sid);

/* Changes the chunk size of this task, in bytes. Write mode only, before the first write. Collective.
 * Returns 1, 0 or -1. */
int sion_generic_parreinit(int sid, sion_int64 chunksize);

/* Opens a multifile with mapped access: task grank of gsize accesses several tasks of the multifile.
 * Arguments and results are as in sion_paropen_mapped_mpi. Creates no local groups. Collective over
 * gcommgroup. Returns a handle >= 0, or -1 on every task. */
int sion_generic_paropen_mapped(int aid, char* fname, const char* file_mode, int* numFiles, void* gcommgroup,
                                int grank, int gsize, int* nlocaltasks, int** globalranks,
                                sion_int64** chunksizes, int** mapping_filenrs, int** mapping_lranks,
                                sion_int32* fsblksize, FILE** fileptr);

/* Closes the multifile; in write mode completes the files. Returns 1, -1 if the handle is invalid, 0 on
 * any other error. */
int sion_generic_parclose_mapped(int sid);

#ifdef __cplusplus
}
#endif
#endif
