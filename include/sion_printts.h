/* Time stamps for programs (docs/api-debug.md). Not part of sion.h. */
#ifndef SION_PRINTTS_H
#define SION_PRINTTS_H

#include "sion_libversion_rep.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Prints a line with the time of day, `rank` and `desc` on stderr. Local. Returns 1, or 0 if `desc` is
 * NULL. */
int sion_print_time_stamp(int rank, char* desc);

#ifdef __cplusplus
}
#endif
#endif
