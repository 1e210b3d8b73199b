/* mio.h: the name under which programs of the SFIO paper know sfio.h. Such programs begin in _main(), after
 * the library has started MPI and the listeners (link sheaf_sfio_main), and ask for their number among the
 * compute tasks with rank(). */
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
