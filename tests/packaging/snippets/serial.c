/* build: gcc $(sionconfig --cflags --ser) app.c -o app $(sionconfig --libs --ser)
   run: ./app
   run: sheaf verify out.sion */
#include <sion.h>
@INCLUDES@

static size_t seen;
static void use(const double *part) { seen += part[0] == 1 && part[9] == 10; }

int main(void) {
  int tasks = 1, files = 1, rank = 0, *ranks = &rank, block = -1;
  size_t n = 10;
  sion_int64 chunk = 1000, *chunks = &chunk;
  double data[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, part[10];
  @SNIPPET@
  return sid < 0 || seen != 1;
}
