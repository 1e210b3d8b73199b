/* sheaf.h: what Sheaf adds to the SION interface. */
#ifndef SHEAF_H
#define SHEAF_H

#include "sion_libversion_rep.h"

/* The version of these headers, for the preprocessor. Versions before the release itself have a suffix, e.g. "-rc1". */
#define SHEAF_VERSION_MAJOR 1
#define SHEAF_VERSION_MINOR 0
#define SHEAF_VERSION_PATCH 0
#define SHEAF_VERSION_STRING "1.0.0-rc1"

#ifdef __cplusplus
extern "C" {
#endif

/* Message of the last call of this thread that failed, "" if none has. Valid until the thread's next failing call. */
const char *sheaf_last_error(void);

/* Whether failing calls also print their message on stderr (they do at first). For the whole process. Returns the
 * setting before. */
int sheaf_print_errors(int on);

/* Version of the library that the program runs with, as SHEAF_VERSION_STRING tells that of the headers. Static storage. */
const char *sheaf_version(void);

#ifdef __cplusplus
}
#endif
#endif
