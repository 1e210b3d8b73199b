/* A debug log of the program and the library, and the debug macros that client code contains. Not part of
 * sion.h.
 *
 * The log is off until sion_debug_on is called or, with the environment variable SION_DEBUG set, the first
 * file is opened or the first line written. It goes to BASE.%05d, the number being that of the process, with
 * .%02d added for the thread where a source of thread numbers is set. The library writes lines about errors
 * (mask 1) and about handles that are opened and closed (mask 2); programs may use all bits. Calls of any
 * thread; all are local. docs/api-debug.md. */
#ifndef SION_DEBUG_H
#define SION_DEBUG_H

#include <stdio.h>

#include "sion_printts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* printf to the log if it is on and has a bit of mask; a line end is added if there is none. Returns 1 if a
 * line was written, else 0. */
int sion_dprintf(int mask, const char* format, ...);

/* The same with the name of a function (may be NULL) and a task in front; only for the tasks that
 * SION_DEBUG_RANK, _RANK1 and _RANK2 name, if any of them is set. */
int sion_dprintfp(int mask, const char* callfunction, int rank, const char* format, ...);

int sion_isdebug(void); /* 1 if the log is on, else 0 */

/* Switches the log on, for the lines that have a bit of mask, with a base name for its file (NULL: SION_DEBUG
 * of the environment, or "sion_debug"). A file that cannot be written switches it off with a message. */
void sion_debug_on(int mask, const char* filename);
void sion_debug_off(void);

FILE* sion_get_dfile(
    void); /* the calling thread's stream of the log, owned by the library; NULL if the log is off */
void sion_dclose(void); /* closes the files; the next line opens one again, at its end */

/* Reads the environment again: 1 if that switches the log on, else 0. */
int _sion_debug_init(void);

/* Where thread numbers in names of log files and in messages come from; NULL: nowhere. The OpenMP and hybrid
 * opens set one if there is none. Returns 1. */
int _sion_debug_set_query_thread_num_function(int (*get_thread_num)(void));

/* A lock held while a line is written, with the library's own. Both or neither. */
void _sion_debug_set_lock_cb(void (*set_lock)(void), void (*unset_lock)(void));

#ifdef __cplusplus
}
#endif

/* DPRINTF((mask, format, ...)), DPRINTFP((mask, function, rank, format, ...)), DPRINTFTS(rank, desc): calls
 * of the functions above in files compiled with SION_DEBUG, nothing in others. */
#undef DPRINTF
#undef DPRINTFP
#undef DPRINTTS
#undef DPRINTFTS
#undef DPRINTFTS2
#undef ONLY_DEBUG
#ifdef SION_DEBUG
#define DPRINTF(A) sion_dprintf A
#define DPRINTFP(A) sion_dprintfp A
#define DPRINTTS(A, B) sion_print_time_stamp(A, (char*)(B))
#define DPRINTFTS(A, B) sion_print_time_stamp(A, (char*)(B))
#define DPRINTFTS2(A, B) sion_print_time_stamp(A, (char*)(B))
#define ONLY_DEBUG(A) A
#else
#define DPRINTF(A)
#define DPRINTFP(A)
#define DPRINTTS(A, B)
#define DPRINTFTS(A, B)
#define DPRINTFTS2(A, B)
#define ONLY_DEBUG(A)
#endif

#endif
