/* The first example of the SFIO paper (section 3), as printed except for its include line and the missing
 * return. */
#include <mpi.h>

#include "mio.h"

int _main(int argc, char* argv[]) {
  MFILE* f;
  (void)argc, (void)argv;
  f = mopen /* Collective Operation */
      ("t0-p1,/tmp/a1.dat;"
       "t0-p2,/tmp/a2.dat;",
       5);
  if (rank() == 0) {
    /* writes at location 0 in the global file 11 characters */
    mwritec(f, 0, "Hello World", 11);
  }
  mclose(f); /* Collective Operation */
  return 0;
}
