/* The byte map of a datatype, the data that tasks write, and checks that print their location. See views.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "views.h"

int rank, tasks;
static long long checks, failures;
static char where[400] = "start";

void now(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(where, sizeof where, format, arguments);
  va_end(arguments);
}

int check(int right, const char* format, ...) {
  ++checks;
  if (right) return 1;
  if (++failures > 20) return 0;
  char text[600];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  printf("[%d of %d] %s: %s\n", rank, tasks, where, text);
  fflush(stdout);
  return 0;
}

int is(long long found, long long expected, const char* what) {
  return check(found == expected, "%s: expected %lld, found %lld", what, expected, found);
}

int class_of(int code) {
  int class = -1;
  MPI_Error_class(code, &class);
  return class;
}

int gives(int code, int expected, const char* call) {
  const int found = class_of(code);
  if (found == expected) return check(1, "right");
  char wanted[MPI_MAX_ERROR_STRING] = "", got[MPI_MAX_ERROR_STRING] = "";
  int length;
  MPI_Error_string(expected, wanted, &length);
  MPI_Error_string(code, got, &length);
  return check(0, "%s: expected class %d (%.100s), found %d (%.300s)", call, expected, wanted, found, got);
}

int summary(void) {
  const long long mine[2] = {checks, failures};
  long long all[2] = {0, 0};
  MPI_Allreduce(mine, all, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%lld checks, %lld failed\n", all[0], all[1]);
  return all[1] == 0;
}

/* Returns the map of a type. MPI packs the numbers of the bytes, one digit after another, so the result is
 * the map. */
struct map map_of(MPI_Datatype type) {
  struct map map = {.size = size_of(type), .extent = extent_of(type)};
  MPI_Aint low, span;
  MPI_Type_get_true_extent(type, &low, &span);
  if (map.size == 0) low = span = 0;
  map.low = low;
  map.high = low + span;
  map.at = calloc(map.size + 1, sizeof *map.at);
  unsigned char *from = malloc(span + 1), *to = malloc(map.size + 1);
  for (int digit = 0; digit < 3 && map.size > 0; ++digit) {
    int used = 0;
    for (MPI_Aint i = 0; i < span; ++i) from[i] = i >> 8 * digit & 255;
    MPI_Pack(from - low, 1, type, to, (int)map.size, &used, MPI_COMM_SELF);
    if (used != map.size) MPI_Abort(MPI_COMM_WORLD, 3);
    for (long i = 0; i < map.size; ++i) map.at[i] += (long)to[i] << 8 * digit;
  }
  for (long i = 0; i < map.size; ++i) map.at[i] += low;
  free(from);
  free(to);
  return map;
}

void forget(struct map* map) {
  free(map->at);
  map->at = NULL;
}

long long place(const struct map* map, long long i) {
  return i / map->size * map->extent + map->at[i % map->size];
}

int rises(const struct map* map) { return map->high - map->low <= map->extent; }

unsigned char value(int number, int who, long long i) {
  unsigned long long x =
      (unsigned long long)number * 1000003 + (unsigned long long)who * 7919 + (unsigned long long)i;
  x *= 0x9E3779B97F4A7C15ull;
  return (unsigned char)(x >> 56);
}
