/* sfio.h: striped files over I/O listeners, the interface of the SFIO paper (section 3) and what Sheaf adds
 * to it.
 *
 * A striped file is named "host,path;host,path;...", one entry per subfile; a host is the name of an I/O
 * listener. Names and calls: docs/api-sfio.md. Offsets and sizes are in bytes.
 *
 * Every call has two names, that of the paper and one that begins with sfio_. Define SFIO_NO_SHORT_NAMES
 * before including this file if the short ones clash with others. The sfio_ forms tell how a call ended: -1
 * for an error, then errno is set and sheaf_last_error() (sheaf.h) has the words, which are also printed
 * unless sheaf_print_errors(0) was called. One thread of a task at a time.
 */
#ifndef SFIO_H
#define SFIO_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open striped file. */
typedef struct sfio_file MFILE;

/* --- the session: which tasks are I/O listeners
 * ------------------------------------------------------------------- */

/* Collective over `all`. `how` says how this program gets its listeners:
 *   "thread"           every task has a listener in a thread (MPI_THREAD_MULTIPLE needed); "thread=node": one
 * task per node "listeners=K"      the last K tasks become listeners; "listeners=node": the last task of
 * every node "compute"          all tasks of this program compute; listeners are other programs of the same
 * launch (sheaf-iod) "listener"         all tasks of this program are listeners NULL or ""         what the
 * environment variable SHEAF_SFIO says; without it "compute" if there are listeners, else "thread" Compute
 * tasks return at once; *compute (may be null) becomes the communicator of the compute tasks, which is the
 * library's and lasts until the end of the session. Listeners return when the session has ended, *compute is
 * then MPI_COMM_NULL. Returns 0, or -1 on all tasks. */
int sfio_start(MPI_Comm all, const char* how, MPI_Comm* compute);

/* Collective over the compute tasks: ends the session and with it the listeners. Files must have been closed.
 * MPI_Finalize does it if the program does not. 0 or -1. */
int sfio_stop(void);

/* Communicator of the compute tasks, MPI_COMM_NULL without a session. Local. */
MPI_Comm sfio_comm(void);

/* Number of listeners, 0 without a session; the host name of listener `number`, NULL if there is none. Local.
 */
int sfio_listeners(void);
const char* sfio_listener_name(int number);

/* --- files
 * ----------------------------------------------------------------------------------------------------------
 */

/* Collective over the compute tasks. Opens a striped file for reading and writing; makes it if it is not
 * there. stripe_unit: bytes > 0 of a stripe unit; 0: what the file has, 64 KiB for a new one. Starts a
 * session over MPI_COMM_WORLD if there is none. NULL on all tasks if it fails on any, also if a subfile is
 * missing or short, or name or stripe unit are not those of the file. */
MFILE* sfio_mopen(const char* name, int stripe_unit);

/* Collective. Closes; f is gone in any case. Fails on all tasks if a write of one has failed, unless that
 * task has written the same bytes since or the file was cut in front of them. */
int sfio_mclose(MFILE* f);

/* Collective. Cuts or extends (with zeros) the logical file to `size` bytes. */
int sfio_mchsize(MFILE* f, int64_t size);

/* Collective. Removes a striped file; one that is not there is an error. */
int sfio_mdelete(const char* name);

/* Collective. Makes an empty striped file, emptying what was there; the first mopen chooses the stripe unit.
 */
int sfio_mcreate(const char* name);

/* --- data: local, blocking
 * ------------------------------------------------------------------------------------------ */

/* The plain forms send a message for every stripe unit, the `c` forms one for every listener. They return the
 * bytes moved: of a read, less than asked for only at the end of the file, what lies behind is set to zero.
 * -1 for an error: then all that other listeners hold is done, the rest is undefined. */
int64_t sfio_mwrite(MFILE* f, int64_t offset, const void* buffer, size_t size);
int64_t sfio_mread(MFILE* f, int64_t offset, void* buffer, size_t size);
int64_t sfio_mwritec(MFILE* f, int64_t offset, const void* buffer, size_t size);
int64_t sfio_mreadc(MFILE* f, int64_t offset, void* buffer, size_t size);

/* Several blocks in one call. Blocks of a write that overlap: later ones win. Return the sum of the sizes, or
 * -1. */
int64_t sfio_mwriteb(MFILE* f, unsigned blocks, const int64_t offsets[], const void* const buffers[],
                     const size_t sizes[]);
int64_t sfio_mreadb(MFILE* f, unsigned blocks, const int64_t offsets[], void* const buffers[],
                    const size_t sizes[]);

/* --- data: collective, blocking
 * ------------------------------------------------------------------------------------- */

/* Over the compute tasks, each with data of its own or none (size 0, no blocks). Each turns to the listeners
 * from a place of its own on, so that they have about as many tasks each. What was written can be read by
 * every task when the call returns; where data of several tasks overlap, either may win. Return what the
 * local forms return, or -1 on all tasks if anything fails on one, a wrong argument included; everything else
 * has ended then. */
int64_t sfio_mwritec_all(MFILE* f, int64_t offset, const void* buffer, size_t size);
int64_t sfio_mreadc_all(MFILE* f, int64_t offset, void* buffer, size_t size);
int64_t sfio_mwriteb_all(MFILE* f, unsigned blocks, const int64_t offsets[], const void* const buffers[],
                         const size_t sizes[]);
int64_t sfio_mreadb_all(MFILE* f, unsigned blocks, const int64_t offsets[], void* const buffers[],
                        const size_t sizes[]);

/* --- data: local, nonblocking
 * --------------------------------------------------------------------------------------- */

/* A transfer under way; the buffers stay the library's until it is done. It moves on in every call for its
 * file or request; messages that have left travel on their own. */
typedef struct sfio_request sfio_request;

int sfio_iwritec(MFILE* f, int64_t offset, const void* buffer, size_t size, sfio_request** request);
int sfio_ireadc(MFILE* f, int64_t offset, void* buffer, size_t size, sfio_request** request);
int sfio_iwriteb(MFILE* f, unsigned blocks, const int64_t offsets[], const void* const buffers[],
                 const size_t sizes[], sfio_request** request);
int sfio_ireadb(MFILE* f, unsigned blocks, const int64_t offsets[], void* const buffers[],
                const size_t sizes[], sfio_request** request);

/* Whether it is done; *done is 0 or 1. Does not free the request. 0, or -1 for an argument that is none. */
int sfio_test(sfio_request* request, int* done);

/* Waits, frees the request and sets it to NULL. Returns what the blocking form does. A NULL request is done:
 * 0. */
int64_t sfio_wait(sfio_request** request);

/* --- memory
 * ---------------------------------------------------------------------------------------------------------
 */

/* Memory of `bytes` bytes, all zero, for the data of transfers. Listeners of the same machine reach it
 * themselves: what is written from there, or read to there, in stripes of 4 KiB and more is not copied into
 * messages. Others get messages as ever. Local, at any time, also before the session; a file descriptor is
 * open for each. NULL if there is none left. */
void* sfio_malloc(size_t bytes);

/* Local. Gives such memory back, from or to which no transfer may be under way; NULL: nothing. 0, or -1 if it
 * is none. */
int sfio_free(void* memory);

/* --- facts and errors
 * ----------------------------------------------------------------------------------------------- */

typedef struct {
  int64_t size; /* of the logical file */
  int64_t stripe_unit;
  int64_t allocated; /* bytes that all subfiles take on their disks */
  int32_t subfiles;
  int32_t listeners; /* that hold them */
} sfio_stat_t;

/* Local. 0 or -1. */
int sfio_mstat(MFILE* f, sfio_stat_t* stat);

/* Local. Requests and bytes of data between this task and the listeners since the session began. */
void sfio_traffic(int64_t* messages, int64_t* bytes);

/* Local. How many of those bytes no message held, because listeners took them from memory of sfio_malloc() or
 * put them there. */
int64_t sfio_lent_bytes(void);

/* Error counts since the last query: failed calls of the operating system on all listeners, and calls of
 * sfio.h that fail without one (bad arguments, a closed file, an ended session, a listener that is gone). The
 * latter count under the kind of the call: mopen, mclose, mcreate, mdelete, mchsize, none, mwrite...,
 * mread... (and mstat). merror returns those of this task, merrora those of all tasks; a collective call that
 * all tasks refuse together counts once. */
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
int sfio_merror(unsigned long ioerr[SFIO_ERRORS]);  /* local */
int sfio_merrora(unsigned long ioerr[SFIO_ERRORS]); /* collective: the same on all tasks */
int sfio_prioerrora(void); /* collective: printed on standard output of compute task 0 */

/* --- the paper's names
 * ---------------------------------------------------------------------------------------------- */
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
