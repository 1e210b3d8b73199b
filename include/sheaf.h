/* sheaf.h: what Sheaf adds to the SION interface. */
#ifndef SHEAF_H
#define SHEAF_H

#include "sion_libversion_rep.h"

/* The version of these headers, for the preprocessor. Versions before the release itself have a suffix, e.g.
 * "-rc1". */
#define SHEAF_VERSION_MAJOR 1
#define SHEAF_VERSION_MINOR 0
#define SHEAF_VERSION_PATCH 0
#define SHEAF_VERSION_STRING "1.0.0-rc1"

#ifdef __cplusplus
extern "C" {
#endif

/* Message of the last call of this thread that failed, "" if none has. Valid until the thread's next failing
 * call. */
const char* sheaf_last_error(void);

/* What kind of error that was: "invalid_argument", "wrong_mode", "not_found", "permission", "io", "no_space",
 * "not_a_multifile", "unsupported", "damaged", "unclosed", "out_of_range", "mismatch", "foreign"; "ok" if
 * none has failed. *errno_value: of the system call that failed, else 0; *task: -1 if unknown. Both may be
 * NULL. Static storage. */
const char* sheaf_last_error_kind(int* errno_value, int* task);

/* Whether failing calls also print their message on stderr (they do at first). For the whole process. Returns
 * the setting before. */
int sheaf_print_errors(int on);

/* Gives up a handle that is open for writing, without closing: what was flushed is found, as after the death
 * of the program (docs/api-sion.md), and a multifile with the word `atomic` is removed. For programs that go
 * on after an error. Local: each task does it for itself, and none may be in a call on the multifile; not for
 * handles of MPI opens. 1 or 0. */
int sheaf_abandon(int sid);

/* Optional beside the callbacks of sion_generic.h: nbytes of each task of the group to `all` of every task,
 * in the order of ranks; 0 for success. Where there is one, the collective calls on multifiles make their
 * agreements with it alone, two calls for each instead of seven, and every task holds what all contribute:
 * for groups of up to some thousand tasks (docs/api-generic.md). Local. 1; 0 if the id is invalid, the
 * callback NULL or set already. */
int sheaf_generic_register_allgather_cb(int aid, int allgather_cb(const void* mine, void* all, void* cg,
                                                                  long long nbytes));

/* --- Streams with names that nobody needs to know in advance (docs/api-streams.md). Any process may open a
 * set at any time, from any host, and make, write, read and remove streams in it; no call is collective. What
 * calls return: as said, or NULL or -1 after an error, with errno. Threads may share sets and streams; a
 * forked child has both as its parent has. */
typedef struct sheaf_set sheaf_set;
typedef struct sheaf_stream sheaf_stream;

/* The set `path`. Nothing is made before the first stream is. */
sheaf_set* sheaf_set_open(const char* path);
/* Streams that are open stay so. 0; also for NULL. */
int sheaf_set_close(sheaf_set* set);

/* mode: as of fopen(3), "r", "w", "a", with "+" and "x"; "w" and "a" make the stream if it is missing. Names
 * are 1 to 4095 bytes. */
sheaf_stream* sheaf_stream_open(sheaf_set* set, const char* name, const char* mode);
/* Bytes that were read at `offset`, fewer only at the end; holes read as zeros. */
long long sheaf_stream_read(sheaf_stream* stream, void* data, unsigned long long bytes, long long offset);
/* Writes at `offset`; with mode "a", and with offset -1, at the end, all bytes of a call together. Returns
 * the bytes that are in the stream now, whatever becomes of the process: fewer than `bytes` if there is no
 * room for the rest, -1 if there is for none. sync, close and sheaf_set_gather fail until missing bytes are
 * written. */
long long sheaf_stream_write(sheaf_stream* stream, const void* data, unsigned long long bytes,
                             long long offset);
long long sheaf_stream_size(sheaf_stream* stream);
/* 0. truncate: new bytes read as zeros. sync: what was written survives a loss of power. */
int sheaf_stream_truncate(sheaf_stream* stream, long long size);
int sheaf_stream_sync(sheaf_stream* stream);
/* 0: other hosts, too, find what was written when they open it. Closed in any case. */
int sheaf_stream_close(sheaf_stream* stream);

/* 0. rename replaces a stream of the new name. */
int sheaf_stream_remove(sheaf_set* set, const char* name);
int sheaf_stream_rename(sheaf_set* set, const char* from, const char* to);

/* Calls visit(name, bytes, data) for each stream whose name begins with `prefix` (NULL: all), in no order,
 * until it returns something other than 0, which is returned; else 0. visit may call the set. */
int sheaf_set_list(sheaf_set* set, const char* prefix,
                   int visit(const char* name, long long bytes, void* data), void* data);

/* Makes one ordinary multifile `path` of the set, one task for each stream, and removes what the set was
 * in; a container with half a record of a killed program is kept as `path`.torn.HOST. While nobody has the
 * set open; fails if a container cannot be read wholly. Number of streams. */
long long sheaf_set_gather(const char* path);

/* Version of the library that the program runs with, as SHEAF_VERSION_STRING tells that of the headers.
 * Static storage. */
const char* sheaf_version(void);

#ifdef __cplusplus
}
#endif
#endif
