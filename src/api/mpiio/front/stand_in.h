/* api/mpiio/front/stand_in: what is called instead of a function that the MPI library of the program lacks.
 * Programs that look for functions at run time (mpi4py) find all entry points of the drop-in, also those that
 * are younger than their MPI library, and call them where no engine serves them either. */
#ifndef SHEAF_STAND_IN_H
#define SHEAF_STAND_IN_H

#include <stddef.h>

typedef long word;
typedef word (*function)(word, word, word, word, word, word);
_Static_assert(sizeof(word) == 8 && sizeof(void*) == 8, "entry points pass arguments as words of 64 bits");

struct stand_in {
  char name[64]; /* of a function that takes the same words; empty: there is none */
  int count;     /* the word that has to fit an int, or -1 */
};

/* For a name that begins with PMPI_: functions with large counts have one with int, and handles of Fortran
 * are the numbers of MPI 5. */
struct stand_in stand_in_of(const char* name);

/* MPI_ERR_UNSUPPORTED_OPERATION of a binary interface; of an unknown one some error. */
word unsupported_operation(const char* interface);

#endif
