/* sheaf.h: what Sheaf adds to the SION interface. */
#ifndef SHEAF_H
#define SHEAF_H

#include "sion_libversion_rep.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Message of the last call of this thread that failed, "" if none has. Valid until the thread's next failing call. */
const char *sheaf_last_error(void);

/* Whether failing calls also print their message on stderr (they do at first). For the whole process. Returns the
 * setting before. */
int sheaf_print_errors(int on);

/* Version of the library, e.g. "1.0.0". Static storage. */
const char *sheaf_version(void);

#ifdef __cplusplus
}
#endif
#endif
