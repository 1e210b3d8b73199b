/* The second example of the SFIO paper (section 3), as printed except for its include line, its quotes and
 * the missing return. */
#include <mpi.h>

#include "mio.h"

int _main(int argc, char* argv[]) {
  MFILE* f;
  char bu[] = "Hello*World!*";
  int r = rank();
  (void)argc, (void)argv;
  f = mopen(
      "t0-p1,/tmp/a.dat;"
      "t0-p2,/tmp/a.dat;",
      5);
  /* each process writes at its own position 13 characters */
  mwritec(f, 13 * r, bu, 13);
  mclose(f);
  return 0;
}
