/* Calls on an open multifile that are the same however it was opened. All are local. sid is a handle returned
 * by an open call; all sizes and positions are in bytes. "Current task" is the own task of a parallel handle,
 * and the one selected with sion_seek otherwise. Failing calls print a message on stderr (see sheaf.h to read
 * or silence it). */
#ifndef SION_COMMON_H
#define SION_COMMON_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sion_datatypes.h"

/* Debug hooks that client code in circulation contains; they do nothing. */
#ifndef DPRINTF
#define DPRINTF(A)
#define DPRINTFP(A)
#define DPRINTTS(A, B)
#define DPRINTFTS2(A, B)
#endif

#define _sion_stat_file _sion_file_stat_file

/* Lets compilers compare a format with its arguments. */
#if defined(__GNUC__)
#define SION_PRINTS(FORMAT, FIRST) __attribute__((__format__(__printf__, FORMAT, FIRST)))
#else
#define SION_PRINTS(FORMAT, FIRST)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- reading and writing
 * ------------------------------------------------------------------------------------ */

/* Appends size*nitems bytes to the stream of the current task. A request that fits a chunk is kept in one; a
 * larger one is continued in further chunks. Returns nitems, 0 on error or for size 0. A call that fails has
 * written nothing; until it is repeated with the same bytes, flush and close fail (docs/api-sion.md, "What
 * write, flush and close promise"). */
size_t sion_fwrite(const void* data, size_t size, size_t nitems, int sid);

/* Reads up to size*nitems bytes from the stream of the current task, over chunk borders. Returns the complete
 * items read, fewer than nitems only at the end of the task; the position advances by those. */
size_t sion_fread(void* data, size_t size, size_t nitems, int sid);

/* fprintf and vfprintf to the stream of the current task: what is printed is appended in one request, as by
 * sion_fwrite, over chunk borders and however the multifile was opened to write. Returns the bytes printed;
 * negative on error (invalid handle, not open for writing, I/O, a format that cannot be printed), with
 * nothing written. Not in the original. */
int sion_fprintf(int sid, const char* format, ...) SION_PRINTS(2, 3);
int sion_vfprintf(int sid, const char* format, va_list arguments) SION_PRINTS(2, 0);

/* Hands everything written so far to the operating system (posix mode: also to the disk). Local. 1; 0 on
 * error, or if a write to any task of the handle has failed and was not repeated. */
int sion_flush(int sid);

/* --- chunk border, end of file, positions
 * --------------------------------------------------------------------- */

/* Write: makes sure the next `bytes` bytes lie in one chunk, beginning a new one if they would not; to be
 * called before writing through the FILE* or the descriptor. 1; 0 if bytes exceeds the chunk size. */
int sion_ensure_free_space(int sid, sion_int64 bytes);

/* Read: 1 at the end of the task, else 0; at the end of a block it moves to the next. Write: 1. -1 invalid.
 */
int sion_feof(int sid);

/* Read: bytes of the current block not read yet. -1 invalid handle. The same under two names. */
sion_int64 sion_bytes_avail_in_block(int sid);
sion_int64 sion_bytes_avail_in_chunk(int sid);

/* Absolute offset in the physical file. -1 invalid. */
sion_int64 sion_get_position(int sid);

/* Write: bytes in the stream of the current task, those written through FILE* included. -1 in read mode. */
sion_int64 sion_get_bytes_written(int sid);

/* Read: offset in the stream of the current task. -1 in write mode. */
sion_int64 sion_get_bytes_read(int sid);

/* Moves to (task, block, position in it). rank: a task or SION_CURRENT_RANK; currentblocknr: a block,
 * SION_CURRENT_BLK, SION_ABSOLUTE_POS (posinblk counts from the start of the stream) or SION_END_POS
 * (posinblk <= 0 from its end); posinblk: bytes or SION_CURRENT_POS. Write mode only selects tasks: (rank,
 * SION_CURRENT_BLK, SION_CURRENT_POS). 1, or 0 with nothing changed. */
int sion_seek(int sid, int rank, int currentblocknr, sion_int64 posinblk);

/* The same; *fileptr (argument may be NULL) is the stream of the task's physical file, NULL in posix mode. */
int sion_seek_fp(int sid, int rank, int currentblocknr, sion_int64 posinblk, FILE** fileptr);

/* --- information
 * ---------------------------------------------------------------------------------------------- */

/* Arrays over all tasks of a serial handle, owned by the library until close: chunk size, global rank, number
 * of blocks, and blocksizes[ntasks*block + task]. Serial write: *maxblocks and *start_of_varheader are -1.
 * Parallel handles: arrays NULL. 1 or 0. */
int sion_get_locations(int sid, int* ntasks, int* maxblocks, sion_int64* globalskip,
                       sion_int64* start_of_varheader, sion_int64** sion_chunksizes,
                       sion_int64** sion_globalranks, sion_int64** sion_blockcount,
                       sion_int64** sion_blocksizes);

/* Current task: block, offset in it, number of blocks, and (despite the name) the sizes of its blocks. 1 or
 * 0. */
int sion_get_current_location(int sid, int* currentblock, sion_int64* currentpos, int* maxchunks,
                              sion_int64** chunksizes);

/* Serial handles: absolute offset and block where each task stands. 1 or 0. */
int sion_get_current_locations(int sid, int* ntasks, sion_int64** sion_currentpos,
                               sion_int64** sion_currentblocknr);

/* Set of files: pairs (file, local rank) for each task. Single file: *mapping_size = -1. 1 or 0. */
int sion_get_mapping(int sid, int* mapping_size, sion_int32** mapping, int* numfiles);

int sion_get_number_of_files(int sid);                    /* physical files; -1 invalid */
int sion_get_filenumber(int sid);                         /* that of the current task; -1 invalid */
int sion_is_serial_opened(int sid);                       /* 1, 0; -1 invalid */
int sion_using_hints(int sid);                            /* 1 if SION_HINTS=1 at the open, 0; -1 invalid */
int sion_get_sizeof(int sid, int* numbytes, int* numfds); /* bytes held, physical files open; 1 or -1 */
int sion_get_version(int* main_version, int* sub_version, int* patch_level, int* fileformat_version); /* 1 */
int sion_is_thread_safe(void);           /* 1: handles may be used from different threads */
int sion_get_keyval_mode(int sid);       /* SION_KEYVAL_...; SION_KEYVAL_UNKNOWN invalid */
char* sion_keyval_type_to_str(int type); /* static string */

/* --- key-value records
 * ----------------------------------------------------------------------------------------- */

/* In multifiles written with the word keyval the stream of a task is a sequence of records (key, value). A
 * key may have several records; its values are read in the order in which they were written, each key from a
 * position of its own, which sion_seek does not change. sion_fread_key_iterator_next moves it to the begin of
 * the record that it returns. Records are found by scanning, as far as a call needs. In key-value multifiles
 * open for reading sion_seek always succeeds in selecting a task. See docs/api-keyval.md. */
typedef struct _sion_key_stat_struct {
  uint64_t key;
  sion_int64 num_blocks; /* records of the key */
  sion_int64 total_size; /* bytes of its values */
} sion_key_stat_t;

/* Appends one record whose value is size*nitems bytes; may be larger than a chunk. nitems 0: an empty record,
 * returns 0. Returns nitems; (size_t)-1 on error (I/O, no key-value file, not open for writing); 0 for an
 * invalid handle or for size 0, which is an error. A failing call has written nothing. */
size_t sion_fwrite_key(const void* data, uint64_t key, size_t size, size_t nitems, int sid);

/* Reads complete items from where the key stands, at most those in the rest of its current record; the next
 * call then goes on with the next record of the key. Empty records are passed over. Returns the items read; 0
 * if the key has no more, is unknown, or less than one item is left in the record, and on error. */
size_t sion_fread_key(void* data, uint64_t key, size_t size, size_t nitems, int sid);

/* All records of the current task in write order: key and length of the next one, at whose begin the key is
 * read next. 1; 0 at the end (or on error). A reset leaves the positions of the keys as they are. */
int sion_fread_key_iterator_reset(int sid);
int sion_fread_key_iterator_next(int sid, uint64_t* key, size_t* size);

/* Sets where the key is read next: (record >= 0, offset in it), (SION_CURRENT_BLK, offset in the record being
 * read; in the next one if that is finished and there is one),
 * (SION_CURRENT_BLK, SION_CURRENT_POS), or (SION_ABSOLUTE_POS, offset in all values of the key, joined). 1; 0
 * with nothing changed if there is no byte at that place. */
int sion_seek_key(int sid, uint64_t key, int entrynum, sion_int64 posinentry);

/* Reads the headers of all records of the current task. 1 or 0. */
int sion_key_full_scan(int sid);

/* The keys of the current task known so far, by first appearance. 1; 0 at the end (*keyptr = 0). */
int sion_key_list_iterator_reset(int sid);
int sion_key_list_iterator_next(int sid, uint64_t* keyptr);

/* Records and bytes of a key, as far as scanned. 1; 0 (both are 0) if the key has not been seen. */
int sion_key_get_stat(int sid, uint64_t key, sion_key_stat_t* stat);

/* --- FILE*, descriptors
 * --------------------------------------------------------------------------------------- */

FILE* sion_get_fp(int sid);      /* stream of the current task; NULL in posix mode or invalid */
int sion_get_fd(int sid);        /* descriptor in posix mode; -1 in ansi mode or invalid */
int sion_set_fp_closed(int sid); /* the program has closed that stream; what it wrote there counts; 1 or 0 */
int sion_set_second_fp(int sid,
                       FILE* fp);     /* all transfers go through fp from now on; closed with the handle */
int sion_unset_second_fp(int sid);    /* back to the library's own stream; fp stays open */
int sion_optimize_fp_buffer(int sid); /* gives the stream a buffer of one file-system block; 1 or 0 */
/* Physical files that this task deals with; for handles opened with `buddy` (docs/api-collective.md), else
 * NULL. roles: SION_ROLE_* bits of the entries wanted. Sizes: payload of this task in bytes. The caller frees
 * it. flag: not used. */
typedef struct _sion_io_stat_struct {
  int nfiles;
  const char** names;
  size_t* sizes;
  int* roles;
} sion_io_stat_t;
sion_io_stat_t* sion_get_io_info(int sid); /* the same for COLLECTOR | WRITER | NOWRITER */
sion_io_stat_t* sion_get_io_info_by_spec(int sid, int roles, int flag);
int sion_free_io_info(sion_io_stat_t* info); /* 1 */

int _sion_file_stat_file(const char* fname); /* 1 if the file exists, else 0 */
int _sion_close_sid(int sid);                /* as sion_close */

/* --- duplicates
 * ---------------------------------------------------------------------------------------------------- */

/* A new handle on the same open multifile with read positions of its own, at first where those of sid are.
 * Local. For handles opened in parallel or mapped for reading. mode: SION_DUP_ALL; SION_DUP_RANK: gives
 * access to task `rank` only; SION_DUP_RANK_KEY: to its key `key` only. A parallel handle has one task
 * whatever `rank` is; of a mapped one a rank that is not of this process, as -1 or SION_CURRENT_RANK, means
 * the current task. To be released before sid is closed. Handle or -1. */
int sion_dup(int sid, int mode, int rank, uint64_t key);
int sion_dedup(int sid); /* releases a duplicate: 1; 0 if it is none; -1 invalid */

/* --- byte order
 * ----------------------------------------------------------------------------------------------- */

int sion_get_endianness(void);            /* this machine: 1 big, 0 little */
int sion_get_file_endianness(int sid);    /* user data of the file: 1 big, 0 little; -1 invalid */
int sion_endianness_swap_needed(int sid); /* 1 if the two differ */

/* Copies n items of `size` bytes, reversing the bytes of each if do_swap is not 0. target == source is
 * allowed. */
void sion_swap(void* target, void* source, int size, int n, int do_swap);

/* --- locks
 * ---------------------------------------------------------------------------------------------------- */

/* Brings a lock that the library holds, with its own, while it changes the table of handles (opens and closes
 * only). Both callbacks are called once at once; what they return does not matter. 1; 0 if there is a lock
 * already, which is kept: the OpenMP and hybrid opens register one of the library's. */
int sion_lock_register_lock_callbacks(int lock(void*), int unlock(void*), void* lock_data);
int sion_lock_user_callbacks_defined(void); /* 1 if a lock has been registered, else 0 */

#ifdef __cplusplus
}
#endif
#endif
