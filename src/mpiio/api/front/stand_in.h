/* mpiio/api/front/stand_in: replacements for functions that the program's MPI library lacks. Programs
 * that look up functions at run time (mpi4py) find all entry points of the drop-in, including newer ones
 * than their MPI library has. Such programs may call an entry point even if no engine is available. */
#ifndef SHEAF_STAND_IN_H
#define SHEAF_STAND_IN_H

#include <stddef.h>

typedef long word;
typedef word (*function)(word, word, word, word, word, word);
_Static_assert(sizeof(word) == 8 && sizeof(void*) == 8, "entry points pass arguments as words of 64 bits");

struct stand_in {
  char name[64]; /* name of a function with the same arguments; empty: none */
  int count;     /* index of the argument that must fit an int, or -1 */
};

/* Returns the replacement for the function `name`, which begins with PMPI_. Functions with large counts
 * map to those with int counts. Calls on Fortran handles map to those on the integers of MPI 5. */
struct stand_in stand_in_of(const char* name);

/* Returns the value of MPI_ERR_UNSUPPORTED_OPERATION in a binary interface, or another error code if the
 * interface is unknown. */
word unsupported_operation(const char* interface);

#endif
