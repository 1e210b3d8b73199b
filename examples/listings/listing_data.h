/* The contents that the five listings write and expect.
 *
 * Task r has a stream of stream_bytes(r) bytes, and byte i of the stream is stream_byte(r, i). Programs write
 * and read it in pieces of PIECE bytes. CHUNK is so small that every task needs several chunks, as in real
 * programs that do not know the amount of data at open. */
#ifndef SHEAF_EXAMPLES_LISTING_DATA_H
#define SHEAF_EXAMPLES_LISTING_DATA_H

#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 1000, CHUNK = 4096, BLOCK = 4096 };

static inline long stream_bytes(int task) { return 10000 + 500L * task; }

static inline char stream_byte(int task, long i) { return (char)((i * 7 + i / 251 + task * 31) & 0x7f); }

/* Returns the bytes of the piece that starts at offset `at` in the stream of `task`. */
static inline size_t piece_bytes(int task, long at) {
  const long left = stream_bytes(task) - at;
  return (size_t)(left < PIECE ? left : PIECE);
}

static inline void fill_piece(int task, long at, char* data, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) data[i] = stream_byte(task, at + (long)i);
}

/* Returns 1 if `data` equals the stream of `task` from byte `at` on, else 0 after a message. */
static inline int check_piece(int task, long at, const char* data, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    if (at + (long)i >= stream_bytes(task) || data[i] != stream_byte(task, at + (long)i)) {
      fprintf(stderr, "task %d: byte %ld is wrong\n", task, at + (long)i);
      return 0;
    }
  return 1;
}

#endif
