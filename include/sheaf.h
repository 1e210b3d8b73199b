/* sheaf.h: calls that Sheaf adds to the SION interface. */
#ifndef SHEAF_H
#define SHEAF_H

#include "sion_libversion_rep.h"

/* Version of the installed headers, for the preprocessor. Pre-releases have a suffix, for example "-rc1". */
#define SHEAF_VERSION_MAJOR 1
#define SHEAF_VERSION_MINOR 0
#define SHEAF_VERSION_PATCH 0
#define SHEAF_VERSION_STRING "1.0.0-rc1"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the message of the last failing call of this thread, or "" if no call has failed. The string is
 * valid until the next failing call of the thread. */
const char* sheaf_last_error(void);

/* Returns the kind of the error that sheaf_last_error describes: "invalid_argument", "wrong_mode",
 * "not_found", "permission", "io", "no_space", "not_a_multifile", "unsupported", "damaged", "unclosed",
 * "out_of_range", "mismatch" or "foreign"; "ok" if no call has failed. The string is static. Sets
 * *errno_value to the errno of the failed system call, or to 0 if no system call failed. Sets *task to
 * the task that the error concerns, or to -1 if that task is unknown. Both pointers may be NULL. */
const char* sheaf_last_error_kind(int* errno_value, int* task);

/* Selects whether failing calls also print their message on stderr (default: yes). Applies to the whole
 * process. Returns the previous setting. */
int sheaf_print_errors(int on);

/* Releases a handle open for writing without closing the multifile, for programs that continue after an
 * error. Flushed data remain readable, as after the death of the program (docs/api-sion.md). A multifile
 * opened with the word `atomic` is removed. Local: every task calls it for its own handle, and no task may
 * be inside another call on the multifile. Does not accept handles of MPI opens. Returns 1, or 0 on error. */
int sheaf_abandon(int sid);

/* Registers an optional callback in addition to those of sion_generic.h. The callback gathers `nbytes`
 * bytes of each task of the group into `all` on every task, in rank order, and returns 0 for success. In
 * collective calls, tasks then reach each agreement by two calls of this callback instead of seven
 * callback calls. Every task receives the contributions of all tasks, so the callback suits groups of up
 * to some thousand tasks (docs/api-generic.md). Local. Returns 1, or 0 if the id is invalid or the
 * callback is NULL or already registered. */
int sheaf_generic_register_allgather_cb(int aid, int allgather_cb(const void* mine, void* all, void* cg,
                                                                  long long nbytes));

/* --- named streams (docs/api-streams.md) ---
 *
 * Any process on any host may open a set at any time and create, read, write and remove streams in it by
 * name. No call is collective. Unless stated otherwise, calls return NULL or -1 on error and set errno.
 * Threads may share sets and streams. A forked child inherits both. */
typedef struct sheaf_set sheaf_set;
typedef struct sheaf_stream sheaf_stream;

/* Opens the set `path`. Creates no file before the first stream is created. The caller releases the set
 * with sheaf_set_close. */
sheaf_set* sheaf_set_open(const char* path);
/* Closes the set; its open streams remain usable. Returns 0. NULL is allowed. */
int sheaf_set_close(sheaf_set* set);

/* Opens the stream `name` (1 to 4095 bytes). `mode` is as in fopen(3): "r", "w" or "a", optionally with
 * "+" and "x". Modes "w" and "a" create a missing stream. The caller releases the stream with
 * sheaf_stream_close. */
sheaf_stream* sheaf_stream_open(sheaf_set* set, const char* name, const char* mode);
/* Reads `bytes` bytes at `offset` into `data`. Holes read as zeros. Returns the number of bytes read,
 * which is smaller than `bytes` only at the end of the stream. */
long long sheaf_stream_read(sheaf_stream* stream, void* data, unsigned long long bytes, long long offset);
/* Writes `bytes` bytes at `offset`. With mode "a" or offset -1, appends them to the end of the stream as
 * one unit. Returns the number of bytes stored, which survive the death of the process. If space runs
 * out, returns a number smaller than `bytes`, or -1 if no byte was stored. Until the program has written
 * the missing bytes, sheaf_stream_sync, sheaf_stream_close and sheaf_set_gather fail. */
long long sheaf_stream_write(sheaf_stream* stream, const void* data, unsigned long long bytes,
                             long long offset);
/* Returns the size of the stream in bytes. */
long long sheaf_stream_size(sheaf_stream* stream);
/* sheaf_stream_truncate sets the size in bytes; added bytes read as zeros. sheaf_stream_sync makes all
 * written data durable on the device. Both return 0. */
int sheaf_stream_truncate(sheaf_stream* stream, long long size);
int sheaf_stream_sync(sheaf_stream* stream);
/* Closes the stream and publishes its data, which other hosts see when they next open the stream.
 * Releases the stream even if the call fails. Returns 0. */
int sheaf_stream_close(sheaf_stream* stream);

/* Remove or rename a stream; renaming replaces an existing stream `to`. Both return 0. */
int sheaf_stream_remove(sheaf_set* set, const char* name);
int sheaf_stream_rename(sheaf_set* set, const char* from, const char* to);

/* Calls visit(name, bytes, data) for each stream with the name prefix `prefix` (NULL: all streams), in
 * no particular order. Stops when `visit` returns a non-zero value and returns that value, otherwise 0.
 * `visit` may call functions on the set. */
int sheaf_set_list(sheaf_set* set, const char* prefix,
                   int visit(const char* name, long long bytes, void* data), void* data);

/* Converts the set into one ordinary multifile `path` with one task for each stream, and removes the
 * containers of the set. A container that ends in an incomplete record of a killed program is kept as
 * `path`.torn.HOST. No process may have the set open. Fails if a container cannot be read completely.
 * Returns the number of streams. */
long long sheaf_set_gather(const char* path);

/* --- saving in the background (docs/async.md) --- */
#include "sheaf_save.h"

/* Returns the version of the library in use, in the format of SHEAF_VERSION_STRING. The string is static. */
const char* sheaf_version(void);

#ifdef __cplusplus
}
#endif
#endif
