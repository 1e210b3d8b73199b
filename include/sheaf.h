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
 * agreements with it alone, two calls for each instead of eight, and every task holds what all contribute:
 * for groups of up to some thousand tasks (docs/api-generic.md). Local. 1; 0 if the id is invalid, the
 * callback NULL or set already. */
int sheaf_generic_register_allgather_cb(int aid, int allgather_cb(const void* mine, void* all, void* cg,
                                                                  long long nbytes));

/* Version of the library that the program runs with, as SHEAF_VERSION_STRING tells that of the headers.
 * Static storage. */
const char* sheaf_version(void);

#ifdef __cplusplus
}
#endif
#endif
