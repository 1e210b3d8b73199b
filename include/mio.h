/* mio.h: the header name used by programs of the SFIO paper; includes sfio.h. Such a program defines
 * _main() and is linked with sheaf_sfio_main. The library starts MPI and the listeners and then calls
 * _main(). rank() returns the number of the calling task among the compute tasks. */
#ifndef MIO_H
#define MIO_H

#include "sfio.h"

#ifdef __cplusplus
extern "C" {
#endif

int _main(int argc, char* argv[]);
int rank(void);

#ifdef __cplusplus
}
#endif
#endif
