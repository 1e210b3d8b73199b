/* Debug log of the program and the library, and the debug macros of client code. Not part of sion.h.
 *
 * The log is off until sion_debug_on is called. If the environment variable SION_DEBUG is set, the first
 * open or the first line written switches it on. The file name is BASE.%05d with the process number. If a
 * source of thread numbers is set, .%02d with the thread number is appended. The library logs errors
 * (mask 1) and opened and closed handles (mask 2); programs may use all bits. Calls are local and
 * thread-safe. See docs/api-debug.md. */
#ifndef SION_DEBUG_H
#define SION_DEBUG_H

#include <stdio.h>

#include "sion_printts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Prints to the log as printf does, if the log is on and its mask shares a bit with `mask`. Adds a
 * missing newline. Returns 1 if a line was written, otherwise 0. */
int sion_dprintf(int mask, const char* format, ...);

/* Prints to the log as sion_dprintf does, with the name of a function (may be NULL) and a task as prefix.
 * If any of SION_DEBUG_RANK, _RANK1 and _RANK2 is set, only the tasks that these variables name write. */
int sion_dprintfp(int mask, const char* callfunction, int rank, const char* format, ...);

int sion_isdebug(void); /* 1 if the log is on, else 0 */

/* Switches the log on for lines that share a bit with `mask`. `filename` is the base name; NULL selects
 * the value of SION_DEBUG, or "sion_debug". If the file cannot be written, prints a message and switches
 * the log off. */
void sion_debug_on(int mask, const char* filename);
void sion_debug_off(void);

/* Returns the log stream of the calling thread, or NULL if the log is off. The library owns the stream. */
FILE* sion_get_dfile(void);
void sion_dclose(void); /* closes the files; the next line reopens its file and appends */

/* Reads the environment again. Returns 1 if the log is then on, otherwise 0. */
int _sion_debug_init(void);

/* Sets the source of thread numbers for log file names and messages; NULL removes it. OpenMP and hybrid
 * opens set one if none is set. Returns 1. */
int _sion_debug_set_query_thread_num_function(int (*get_thread_num)(void));

/* Registers a lock that the library holds, in addition to its own, while it writes a line. The program
 * must pass both callbacks or NULL for both. */
void _sion_debug_set_lock_cb(void (*set_lock)(void), void (*unset_lock)(void));

#ifdef __cplusplus
}
#endif

/* DPRINTF((mask, format, ...)), DPRINTFP((mask, function, rank, format, ...)) and DPRINTFTS(rank, desc)
 * call the functions above in files compiled with SION_DEBUG, and expand to nothing in others. */
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
