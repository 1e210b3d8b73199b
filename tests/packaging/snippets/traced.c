/* A program that uses Sheaf and is traced by a library that also uses it. */
#include <sion.h>

void trace_begin(void);
void trace_event(const char* what);
void trace_end(void);

int main(void) {
  int tasks = 1, files = 1, rank = 0, *ranks = &rank, block = -1, sid;
  sion_int64 chunk = 1000, *chunks = &chunk;
  trace_begin();
  trace_event("begin ");
  sid = sion_open("app.sion", "wb", &tasks, &files, &chunks, &block, &ranks, NULL);
  sion_fwrite("data", 1, 4, sid);
  trace_event("end ");
  trace_end();
  return sion_close(sid) != SION_SUCCESS;
}
