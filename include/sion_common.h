/* Calls on an open multifile that are the same for every kind of open call. All are local.
 *
 * `sid` is a handle returned by an open call. Sizes and positions are in bytes. The "current task" is the
 * own task of a parallel handle, and the task selected with sion_seek for other handles. Failing calls
 * print a message on stderr (sheaf.h tells how to read or suppress it). */
#ifndef SION_COMMON_H
#define SION_COMMON_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sion_datatypes.h"

/* Debug hooks used by existing client code; they expand to nothing. */
#ifndef DPRINTF
#define DPRINTF(A)
#define DPRINTFP(A)
#define DPRINTTS(A, B)
#define DPRINTFTS2(A, B)
#endif

#define _sion_stat_file _sion_file_stat_file

/* Lets compilers check the arguments of a call against its format string. */
#if defined(__GNUC__)
#define SION_PRINTS(FORMAT, FIRST) __attribute__((__format__(__printf__, FORMAT, FIRST)))
#else
#define SION_PRINTS(FORMAT, FIRST)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- reading and writing --- */

/* Appends size*nitems bytes to the stream of the current task. A request that fits into a chunk is stored
 * in one chunk; a larger one continues in further chunks. Returns nitems, or 0 on error or for size 0. A
 * failing call has written nothing. Until the program repeats the call with the same bytes, flush and
 * close fail (docs/api-sion.md, "What write, flush and close promise"). */
size_t sion_fwrite(const void* data, size_t size, size_t nitems, int sid);

/* Reads up to size*nitems bytes from the stream of the current task, across chunk boundaries. Returns the
 * number of complete items read, which is smaller than nitems only at the end of the stream. Advances the
 * position by the complete items. */
size_t sion_fread(void* data, size_t size, size_t nitems, int sid);

/* Append formatted text to the stream of the current task, for every kind of handle open for writing.
 * Arguments are as in fprintf and vfprintf. The text is appended like one request of sion_fwrite. Return
 * the number of bytes written. Return a negative value and write nothing if the handle is invalid or not
 * open for writing, the format is invalid, or I/O fails. Not part of the original library. */
int sion_fprintf(int sid, const char* format, ...) SION_PRINTS(2, 3);
int sion_vfprintf(int sid, const char* format, va_list arguments) SION_PRINTS(2, 0);

/* Passes all data written so far to the operating system, and in posix mode also to the disk. Returns 1,
 * or 0 on error. Also returns 0 while any task of the handle has a failed write that was not repeated. */
int sion_flush(int sid);

/* --- chunk boundaries, end of file, positions --- */

/* Writing: ensures that the next `bytes` bytes are in one chunk; starts a new chunk if necessary. Required
 * before writing through the FILE* or the descriptor. Returns 1, or 0 if `bytes` exceeds the chunk size. */
int sion_ensure_free_space(int sid, sion_int64 bytes);

/* Reading: returns 1 at the end of the task, otherwise 0; at the end of a block, advances to the next
 * block. Writing: returns 1. Returns -1 if the handle is invalid. */
int sion_feof(int sid);

/* Reading: return the number of unread bytes in the current block, or -1 if the handle is invalid. Both
 * names are the same call. */
sion_int64 sion_bytes_avail_in_block(int sid);
sion_int64 sion_bytes_avail_in_chunk(int sid);

/* Returns the current offset in the physical file, or -1 if the handle is invalid. */
sion_int64 sion_get_position(int sid);

/* Writing: returns the number of bytes in the stream of the current task, including those written through
 * the FILE*. Reading: returns -1. */
sion_int64 sion_get_bytes_written(int sid);

/* Reading: returns the offset in the stream of the current task. Writing: returns -1. */
sion_int64 sion_get_bytes_read(int sid);

/* Moves to a position (task, block, offset in the block).
 * - `rank`: a task, or SION_CURRENT_RANK.
 * - `currentblocknr`: a block, SION_CURRENT_BLK, SION_ABSOLUTE_POS (`posinblk` counts from the start of
 *   the stream) or SION_END_POS (`posinblk` <= 0 counts from the end of the stream).
 * - `posinblk`: bytes, or SION_CURRENT_POS.
 *
 * In write mode only tasks can be selected: (rank, SION_CURRENT_BLK, SION_CURRENT_POS). Returns 1, or 0
 * with the position unchanged. */
int sion_seek(int sid, int rank, int currentblocknr, sion_int64 posinblk);

/* Moves to a position as sion_seek does. Unless `fileptr` is NULL, sets *fileptr to the stdio stream of
 * the physical file of the task, or to NULL in posix mode. */
int sion_seek_fp(int sid, int rank, int currentblocknr, sion_int64 posinblk, FILE** fileptr);

/* --- information --- */

/* Stores properties of all tasks of a serial handle: chunk sizes, global ranks, numbers of blocks, and
 * block sizes (index ntasks*block + task). The library owns the arrays until the close. In write mode
 * *maxblocks and *start_of_varheader are set to -1. For parallel handles the array pointers are set to
 * NULL, and *maxblocks and *start_of_varheader to -1. Returns 1 or 0. */
int sion_get_locations(int sid, int* ntasks, int* maxblocks, sion_int64* globalskip,
                       sion_int64* start_of_varheader, sion_int64** sion_chunksizes,
                       sion_int64** sion_globalranks, sion_int64** sion_blockcount,
                       sion_int64** sion_blocksizes);

/* Stores the block of the current task, the offset in this block, the number of its blocks and, despite
 * the parameter name, the sizes of its blocks. Returns 1 or 0. */
int sion_get_current_location(int sid, int* currentblock, sion_int64* currentpos, int* maxchunks,
                              sion_int64** chunksizes);

/* Stores two arrays with the position of every task: its offset in the physical file and its block
 * number. Accepts serial handles only. Returns 1 or 0. */
int sion_get_current_locations(int sid, int* ntasks, sion_int64** sion_currentpos,
                               sion_int64** sion_currentblocknr);

/* Stores an array with a pair (file, local rank) for each task of a set of files. If the handle has no
 * such mapping, as for a single file, sets *mapping_size to -1 and leaves *mapping unchanged. Returns 1
 * or 0. */
int sion_get_mapping(int sid, int* mapping_size, sion_int32** mapping, int* numfiles);

int sion_get_number_of_files(int sid); /* number of physical files; -1 if invalid */
int sion_get_filenumber(int sid);      /* number of the physical file of the current task; -1 if invalid */
int sion_is_serial_opened(int sid);    /* 1 or 0; -1 if invalid */
int sion_using_hints(int sid);         /* 1 if SION_HINTS was 1 at the open, else 0; -1 if invalid */
int sion_get_sizeof(int sid, int* numbytes, int* numfds); /* bytes in use, physical files open; 1, or -1 */
/* Stores the versions of the library and of its file format. Returns 1. */
int sion_get_version(int* main_version, int* sub_version, int* patch_level, int* fileformat_version);
int sion_is_thread_safe(void);           /* 1: threads may share handles */
int sion_get_keyval_mode(int sid);       /* SION_KEYVAL_...; SION_KEYVAL_UNKNOWN if invalid */
char* sion_keyval_type_to_str(int type); /* static string */

/* --- key-value records --- */

/* In multifiles written with the word keyval, the stream of a task is a sequence of records (key, value).
 * A key may have several records. Its values are read in the order in which they were written. Every key
 * has its own read position, which sion_seek does not change. sion_fread_key_iterator_next moves the
 * position of a key to the start of the record that the call returns. A call scans the stream only until
 * it has found the records that it needs. In a key-value multifile open for reading, sion_seek succeeds
 * whenever it selects a task. See docs/api-keyval.md. */

/* Totals of one key. */
typedef struct _sion_key_stat_struct {
  uint64_t key;
  sion_int64 num_blocks; /* number of records of the key */
  sion_int64 total_size; /* bytes of all its values */
} sion_key_stat_t;

/* Appends one record with a value of size*nitems bytes, which may exceed the chunk size. With nitems 0 it
 * appends an empty record and returns 0. Returns nitems on success. Returns (size_t)-1 if I/O fails, the
 * multifile is no key-value file, or it is not open for writing. Returns 0 as an error if the handle is
 * invalid or `size` is 0. A failing call has written nothing. */
size_t sion_fwrite_key(const void* data, uint64_t key, size_t size, size_t nitems, int sid);

/* Reads up to nitems complete items at the position of the key, but no items beyond the end of the
 * current record. A following call continues with the next record of the key. Empty records are skipped.
 * Returns the number of items read. Returns 0 on error, if the key is unknown or has no more data, or if
 * less than one item is left in the record. */
size_t sion_fread_key(void* data, uint64_t key, size_t size, size_t nitems, int sid);

/* Iterate over all records of the current task in write order. sion_fread_key_iterator_next stores the
 * key and the length of the next record and moves the position of the key to the start of this record. It
 * returns 1, or 0 at the end or on error. sion_fread_key_iterator_reset restarts the iteration and leaves
 * the positions of the keys unchanged. */
int sion_fread_key_iterator_reset(int sid);
int sion_fread_key_iterator_next(int sid, uint64_t* key, size_t* size);

/* Sets the read position of a key. (entrynum, posinentry) is one of:
 * - (record >= 0, offset in the record);
 * - (SION_CURRENT_BLK, offset in the current record, or in the next record if the current one is exhausted
 *   and a next one exists);
 * - (SION_CURRENT_BLK, SION_CURRENT_POS);
 * - (SION_ABSOLUTE_POS, offset in the concatenated values of the key).
 *
 * Returns 1. If the key has no byte at this position, returns 0 and leaves the position unchanged. */
int sion_seek_key(int sid, uint64_t key, int entrynum, sion_int64 posinentry);

/* Reads the headers of all records of the current task. Returns 1 or 0. */
int sion_key_full_scan(int sid);

/* Iterate over the keys of the current task that have been scanned so far, in order of first appearance.
 * Return 1. At the end, sion_key_list_iterator_next sets *keyptr to 0 and returns 0. */
int sion_key_list_iterator_reset(int sid);
int sion_key_list_iterator_next(int sid, uint64_t* keyptr);

/* Stores the number of records and bytes of a key in the part of the stream that was scanned so far.
 * Returns 1. If the key was not found, stores 0 for both and returns 0. */
int sion_key_get_stat(int sid, uint64_t key, sion_key_stat_t* stat);

/* --- FILE* and descriptors --- */

FILE* sion_get_fp(int sid); /* stdio stream of the current task; NULL in posix mode or if invalid */
int sion_get_fd(int sid);   /* descriptor in posix mode; -1 in ansi mode or if invalid */

/* Tells the library that the program has closed the stdio stream. Data written to it are kept. Returns 1
 * or 0. */
int sion_set_fp_closed(int sid);

/* Sends all further transfers through `fp`. The library closes `fp` when the handle is closed. If a
 * second stream is registered already, prints a warning and keeps that stream. Returns 1, or 0 on error. */
int sion_set_second_fp(int sid, FILE* fp);

/* Resumes transfers through the stdio stream of the library. The second stream stays open. Returns 1 or
 * 0. */
int sion_unset_second_fp(int sid);

/* Gives the stdio stream a buffer of one file-system block. Returns 1 or 0. */
int sion_optimize_fp_buffer(int sid);

/* The physical files that a task uses. */
typedef struct _sion_io_stat_struct {
  int nfiles;
  const char** names;
  size_t* sizes; /* payload of this task in each file, in bytes */
  int* roles;    /* SION_ROLE_* bits */
} sion_io_stat_t;

/* Return the physical files that this task uses, for a handle opened with `buddy` (docs/api-collective.md),
 * or NULL for other handles. `roles` selects entries by SION_ROLE_* bits. `flag` is unused. The caller frees
 * the result with sion_free_io_info. */
sion_io_stat_t* sion_get_io_info(int sid); /* with roles COLLECTOR | WRITER | NOWRITER */
sion_io_stat_t* sion_get_io_info_by_spec(int sid, int roles, int flag);
int sion_free_io_info(sion_io_stat_t* info); /* returns 1 */

int _sion_file_stat_file(const char* fname); /* 1 if the file exists, else 0 */
int _sion_close_sid(int sid);                /* same as sion_close */

/* --- duplicates --- */

/* Creates a handle on the same open multifile with its own read positions, which start as those of `sid`.
 * Local. Requires a handle opened in parallel or mapped, for reading. `mode`:
 * - SION_DUP_ALL: access to all tasks of `sid`.
 * - SION_DUP_RANK: access to task `rank` only.
 * - SION_DUP_RANK_KEY: access to key `key` of task `rank` only.
 *
 * A parallel handle has one task, so `rank` is ignored. For a mapped handle a rank of another process, -1
 * or SION_CURRENT_RANK selects the current task. The duplicate must be released before `sid` is closed.
 * Returns the handle, or -1. */
int sion_dup(int sid, int mode, int rank, uint64_t key);
int sion_dedup(int sid); /* releases a duplicate: 1; 0 if `sid` is not a duplicate; -1 if invalid */

/* --- byte order --- */

int sion_get_endianness(void);            /* byte order of this machine: 1 big, 0 little */
int sion_get_file_endianness(int sid);    /* byte order of the user data: 1 big, 0 little; -1 if invalid */
int sion_endianness_swap_needed(int sid); /* 1 if the two byte orders differ or `sid` is invalid, else 0 */

/* Copies n items of `size` bytes; reverses the bytes of each item unless do_swap is 0. `target` may equal
 * `source`. */
void sion_swap(void* target, void* source, int size, int n, int do_swap);

/* --- locks --- */

/* Registers a lock that the library holds in addition to its own while an open or a close changes the
 * handle table. The registration calls each callback once. The library ignores the return values of the
 * callbacks. Returns 1. Returns 0 if a callback is NULL or a lock is already registered; the registered
 * lock remains in use. OpenMP and hybrid opens register a lock without effect, after which programs
 * cannot register one. */
int sion_lock_register_lock_callbacks(int lock(void*), int unlock(void*), void* lock_data);
int sion_lock_user_callbacks_defined(void); /* 1 if a lock is registered, else 0 */

#ifdef __cplusplus
}
#endif
#endif
