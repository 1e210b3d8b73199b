/* sheaf_mpi.h: calls that Sheaf adds to the SION interface for MPI programs. */
#ifndef SHEAF_MPI_H
#define SHEAF_MPI_H

#include <mpi.h>

#include "sheaf_save.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Waits as sheaf_save_wait does. Collective over `comm`. Returns 1 on all tasks if every task has reached the
 * state, else 0 on all tasks. */
int sheaf_save_wait_mpi(sheaf_save* save, int state, MPI_Comm comm);

#ifdef __cplusplus
}
#endif
#endif
