/* sfio.h: files striped over I/O listeners. This is the interface of the SFIO paper (section 3) with the
 * extensions of Sheaf.
 *
 * A striped file is named "host,path;host,path;...", with one entry for each subfile; a host is the name
 * of an I/O listener (docs/api-sfio.md). Offsets and sizes are in bytes.
 *
 * Every call has two names, that of the paper and one that begins with sfio_. Define SFIO_NO_SHORT_NAMES
 * before including this file if the short names clash with others. The sfio_ forms report errors: they
 * return -1 and set errno. sheaf_last_error() (sheaf.h) returns the message, which is also printed unless
 * sheaf_print_errors(0) was called. Only one thread of a task at a time may make calls. */
#ifndef SFIO_H
#define SFIO_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Handle of an open striped file. */
typedef struct sfio_file MFILE;

/* --- session: which tasks are I/O listeners --- */

/* Starts a session. Collective over `all`. `how` selects the listeners of this program:
 * - "thread": one listener thread in every task; requires MPI_THREAD_MULTIPLE.
 * - "thread=node": one listener thread for each host.
 * - "listeners=K": the last K tasks become listeners.
 * - "listeners=node": the last task of every host becomes a listener.
 * - "compute": all tasks of this program compute; the listeners are other programs of the same launch
 *   (sheaf-iod).
 * - "listener": all tasks of this program are listeners.
 * - NULL or "": the value of the environment variable SHEAF_SFIO; if that is unset, "compute" if there are
 *   listeners, else "thread".
 *
 * On compute tasks the call returns at once and sets *compute (`compute` may be NULL) to the communicator
 * of the compute tasks. The library owns the communicator until the end of the session. On listeners the
 * call returns when the session has ended, with *compute set to MPI_COMM_NULL. Returns 0, or -1 on all
 * tasks. */
int sfio_start(MPI_Comm all, const char* how, MPI_Comm* compute);

/* Ends the session and its listeners. Collective over the compute tasks. All files must be closed.
 * MPI_Finalize ends a session that the program did not stop. Returns 0 or -1. */
int sfio_stop(void);

/* Returns the communicator of the compute tasks, or MPI_COMM_NULL without a session. Local. */
MPI_Comm sfio_comm(void);

/* sfio_listeners returns the number of listeners, 0 without a session. sfio_listener_name returns the host
 * name of listener `number`, or NULL if it does not exist. Local. */
int sfio_listeners(void);
const char* sfio_listener_name(int number);

/* --- files --- */

/* Opens a striped file for reading and writing; creates it if it does not exist. Collective over the
 * compute tasks. `stripe_unit` is in bytes; 0 selects that of the existing file, or 64 KiB for a new one.
 * Starts a session over MPI_COMM_WORLD if necessary. Fails if a subfile is missing or too short, or if
 * `name` or `stripe_unit` do not match the file. Returns NULL on all tasks if the open fails on any task. */
MFILE* sfio_mopen(const char* name, int stripe_unit);

/* Closes the file and releases `f` in any case. Collective. Fails on all tasks if a write of any task
 * failed, unless the task later wrote the same bytes or the file was truncated to a size that excludes
 * them. */
int sfio_mclose(MFILE* f);

/* Truncates the logical file to `size` bytes or extends it with zeros. Collective. */
int sfio_mchsize(MFILE* f, int64_t size);

/* Removes a striped file. Collective. A missing file is an error. */
int sfio_mdelete(const char* name);

/* Creates an empty striped file, truncating an existing one. Collective. The first sfio_mopen selects the
 * stripe unit. */
int sfio_mcreate(const char* name);

/* --- data: local, blocking --- */

/* Transfer one block. The forms without `c` send one message for each stripe unit; the forms with `c`
 * send one for each listener. They return the number of bytes transferred. A read returns fewer than
 * requested only at the end of the file and fills the rest of the buffer with zeros. They return -1 on
 * error. If a listener fails, the other listeners still complete their parts; the contents of the failed
 * part are undefined. */
int64_t sfio_mwrite(MFILE* f, int64_t offset, const void* buffer, size_t size);
int64_t sfio_mread(MFILE* f, int64_t offset, void* buffer, size_t size);
int64_t sfio_mwritec(MFILE* f, int64_t offset, const void* buffer, size_t size);
int64_t sfio_mreadc(MFILE* f, int64_t offset, void* buffer, size_t size);

/* Transfer several blocks in one call. If blocks of a write overlap, later ones win. Return the sum of the
 * sizes, or -1. */
int64_t sfio_mwriteb(MFILE* f, unsigned blocks, const int64_t offsets[], const void* const buffers[],
                     const size_t sizes[]);
int64_t sfio_mreadb(MFILE* f, unsigned blocks, const int64_t offsets[], void* const buffers[],
                    const size_t sizes[]);

/* --- data: collective, blocking --- */

/* Collective over the compute tasks, each with its own data or none (size 0, no blocks). Tasks start at
 * different listeners, so that the load is even. When a write returns, every task can read the data.
 * Where data of several tasks overlap, either may win. Return the same values as the local forms. If the
 * call fails on one task, for example because of invalid arguments, all tasks return -1 after the
 * remaining transfers have ended. */
int64_t sfio_mwritec_all(MFILE* f, int64_t offset, const void* buffer, size_t size);
int64_t sfio_mreadc_all(MFILE* f, int64_t offset, void* buffer, size_t size);
int64_t sfio_mwriteb_all(MFILE* f, unsigned blocks, const int64_t offsets[], const void* const buffers[],
                         const size_t sizes[]);
int64_t sfio_mreadb_all(MFILE* f, unsigned blocks, const int64_t offsets[], void* const buffers[],
                        const size_t sizes[]);

/* --- data: local, nonblocking --- */

/* A transfer in flight. */
typedef struct sfio_request sfio_request;

/* Start a transfer, store it in *request and return 0, or -1 on error. The library uses the buffers until the
 * transfer completes. Transfers progress in every call for the same file or request; messages already sent
 * complete without further calls. */
int sfio_iwritec(MFILE* f, int64_t offset, const void* buffer, size_t size, sfio_request** request);
int sfio_ireadc(MFILE* f, int64_t offset, void* buffer, size_t size, sfio_request** request);
int sfio_iwriteb(MFILE* f, unsigned blocks, const int64_t offsets[], const void* const buffers[],
                 const size_t sizes[], sfio_request** request);
int sfio_ireadb(MFILE* f, unsigned blocks, const int64_t offsets[], void* const buffers[],
                const size_t sizes[], sfio_request** request);

/* Sets *done to 1 if the transfer has completed, otherwise 0. Does not release the request. Returns 0, or
 * -1 if an argument is invalid. */
int sfio_test(sfio_request* request, int* done);

/* Waits for the transfer, releases the request and sets *request to NULL. Returns the result of the
 * blocking form, or 0 for a NULL request. */
int64_t sfio_wait(sfio_request** request);

/* --- memory --- */

/* Allocates `bytes` bytes of zeroed memory for the data of transfers. Listeners on the same host access
 * this memory directly, so stripes of 4 KiB and more are not copied into messages. Other listeners receive
 * messages as usual. Local; may be called before the session starts. Each allocation holds one file
 * descriptor. Returns NULL if memory is exhausted. */
void* sfio_malloc(size_t bytes);

/* Releases memory of sfio_malloc(). Local. No transfer that uses the memory may be in flight. NULL is
 * allowed. Returns 0, or -1 if `memory` was not allocated by sfio_malloc(). */
int sfio_free(void* memory);

/* --- information and errors --- */

typedef struct {
  int64_t size; /* bytes in the logical file */
  int64_t stripe_unit;
  int64_t allocated; /* disk space of all subfiles, in bytes */
  int32_t subfiles;
  int32_t listeners; /* number of listeners that store the subfiles */
} sfio_stat_t;

/* Fills `stat`. Local. Returns 0 or -1. */
int sfio_mstat(MFILE* f, sfio_stat_t* stat);

/* Sets *messages and *bytes to the number of requests and of bytes of data that this task and the
 * listeners have exchanged since the session began. Local. */
void sfio_traffic(int64_t* messages, int64_t* bytes);

/* Returns how many bytes of data were not sent in messages, because listeners accessed memory of
 * sfio_malloc() directly. Local. */
int64_t sfio_lent_bytes(void);

/* Indices into the error counts of a query. Failed system calls count under the name of the call, on all
 * listeners. Calls of sfio.h that fail without a failed system call (bad arguments, a closed file, an
 * ended session, a lost listener) count under the kind of the call, in this order: mopen, mclose,
 * mcreate, mdelete, mchsize, none, mwrite..., mread... (and mstat). A collective call that all tasks
 * reject together counts once. */
enum {
  SFIO_OPEN,
  SFIO_CLOSE,
  SFIO_CREAT,
  SFIO_UNLINK,
  SFIO_FTRUNCATE,
  SFIO_LSEEK,
  SFIO_WRITE,
  SFIO_READ,
  SFIO_ERRORS
};

/* Fill `ioerr` with the error counts since the last query and reset the counts. sfio_merror reports the
 * rejected calls of this task, sfio_merrora those of all tasks. sfio_prioerrora prints the counts. Return 0
 * or -1. */
int sfio_merror(unsigned long ioerr[SFIO_ERRORS]);  /* local */
int sfio_merrora(unsigned long ioerr[SFIO_ERRORS]); /* collective: the same values on all tasks */
int sfio_prioerrora(void); /* collective: prints on standard output of compute task 0 */

/* --- names of the paper --- */
/* The calls equal the sfio_ forms above. Calls without a return value report errors only by the printed
 * message and sheaf_last_error(). */
#ifndef SFIO_NO_SHORT_NAMES
MFILE* mopen(const char* name, int stripeUnitSz);
void mclose(MFILE* f);
void mchsize(MFILE* f, long size);
void mdelete(const char* name);
void mcreate(const char* name);
void mread(MFILE* f, long offset, char* buffer, unsigned size);
void mwrite(MFILE* f, long offset, const char* buffer, unsigned size);
void mreadc(MFILE* f, long offset, char* buffer, unsigned size);
void mwritec(MFILE* f, long offset, const char* buffer, unsigned size);
void mreadb(MFILE* f, unsigned numberOfBlocks, long offsets[], char* buffers[], unsigned sizes[]);
void mwriteb(MFILE* f, unsigned numberOfBlocks, long offsets[], char* buffers[], unsigned sizes[]);
void merror(unsigned long* ioerr);
void merrora(unsigned long* ioerr);
void prioerrora(void);
int mstat(MFILE* f, sfio_stat_t* stat);
#endif

#ifdef __cplusplus
}
#endif
#endif
