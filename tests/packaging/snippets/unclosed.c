/* Writes restart.sion, 100,000 bytes for each of 64 tasks, and dies before the close. */
#include <sion.h>
#include <stdlib.h>
#include <unistd.h>

int main(void) {
  static char data[100000];
  int tasks = 64, files = 1, ranks[64], *rank = ranks, block = -1, sid, t;
  sion_int64 sizes[64], *chunks = sizes;
  for (t = 0; t < tasks; t++) ranks[t] = t, sizes[t] = sizeof data;
  sid = sion_open("restart.sion", "wb", &tasks, &files, &chunks, &block, &rank, NULL);
  for (t = 0; t < tasks; t++) {
    if (sion_seek(sid, t, SION_CURRENT_BLK, SION_CURRENT_POS) != SION_SUCCESS) return 1;
    if (sion_fwrite(data, 1, sizeof data, sid) != sizeof data || sion_flush(sid) != SION_SUCCESS) return 1;
  }
  _exit(0);
}
