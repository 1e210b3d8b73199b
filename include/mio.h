/* mio.h: the header name used by programs of the SFIO paper; includes sfio.h. Such programs start in
 * _main(), after the library has started MPI and the listeners (link sheaf_sfio_main). rank() returns
 * their number among the compute tasks. */
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
