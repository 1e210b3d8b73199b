/* steps.h: tables of calls on an open handle, with their expected results.
 *
 * A row is {who, call, a, b, c, expected, d}. `who` is the task that makes the call, or ALL. The stream of
 * task t has the bytes byte_of(t, 0), byte_of(t, 1), ... The values of all records of key k of task t,
 * concatenated, have the bytes of the stream of task_of_key(t, k). */
#ifndef FAMILIES_STEPS_H
#define FAMILIES_STEPS_H

#include "check.h"

enum { ALL = -1, SKIP = -99, OWN = -98 }; /* SKIP: an unchecked argument of AT. OWN: the current task */

#define SIZE_MINUS_ONE (-1LL) /* (size_t)-1 as a result */

enum call {
  END,        /* end of a table */
  WRITE,      /* sion_fwrite(next bytes, a, b) */
  CWRITE,     /* sion_coll_fwrite(next bytes, a, b) */
  READ,       /* sion_fread(a, b): bytes of the stream from offset c */
  CREAD,      /* sion_coll_fread(a, b): bytes of the stream from offset c */
  READ_NULL,  /* sion_fread(NULL, a, b) */
  ENSURE,     /* sion_ensure_free_space(a) */
  FLUSH,      /* sion_flush() */
  FEOF,       /* sion_feof() */
  AVAIL,      /* sion_bytes_avail_in_block() and ..._in_chunk() */
  WRITTEN,    /* sion_get_bytes_written() */
  GOT,        /* sion_get_bytes_read() */
  AT,         /* sion_get_current_location(): block a, position b, c blocks */
  OFFSET,     /* sion_get_position(): the offset of position b in chunk a (docs/format.md) */
  SEEK,       /* sion_seek(a, b, c) */
  SEEK_FP,    /* sion_seek_fp(a, b, c, &fp): returns the stream in ansi mode */
  FP_WRITE,   /* fwrite(next bytes, a, b) to the stream of sion_get_fp() */
  FP_READ,    /* fread(a, b) from sion_get_fp(): bytes of the stream from offset c */
  FD_WRITE,   /* write(a bytes) to the descriptor of sion_get_fd() */
  FD_READ,    /* read(a bytes) from sion_get_fd(): bytes of the stream from offset c */
  FP_AT,      /* ftell() of sion_get_fp(): the offset of position b in chunk a */
  MODE,       /* sion_get_keyval_mode() */
  FILES,      /* sion_get_number_of_files() */
  FILENUMBER, /* sion_get_filenumber() */
  WKEY,       /* sion_fwrite_key(next bytes of key a, size b, items c) */
  RKEY,       /* sion_fread_key(key a, size b, items c): bytes of the key's stream from offset d */
  NEXT,       /* sion_fread_key_iterator_next(): key a, length b */
  RESET,      /* sion_fread_key_iterator_reset() */
  SCAN,       /* sion_key_full_scan() */
  LISTED,     /* sion_key_list_iterator_next(): key a */
  LIST_RESET, /* sion_key_list_iterator_reset() */
  STAT,       /* sion_key_get_stat(key a): b records, c bytes */
  SEEK_KEY    /* sion_seek_key(a, b, c) */
};

struct step {
  int who;
  enum call call;
  long long a, b, c, expected, d;
};

static const char* const call_names[] = {"end",
                                         "sion_fwrite",
                                         "sion_coll_fwrite",
                                         "sion_fread",
                                         "sion_coll_fread",
                                         "sion_fread(NULL)",
                                         "sion_ensure_free_space",
                                         "sion_flush",
                                         "sion_feof",
                                         "sion_bytes_avail_in_block",
                                         "sion_get_bytes_written",
                                         "sion_get_bytes_read",
                                         "sion_get_current_location",
                                         "sion_get_position",
                                         "sion_seek",
                                         "sion_seek_fp",
                                         "fwrite",
                                         "fread",
                                         "write",
                                         "read",
                                         "ftell",
                                         "sion_get_keyval_mode",
                                         "sion_get_number_of_files",
                                         "sion_get_filenumber",
                                         "sion_fwrite_key",
                                         "sion_fread_key",
                                         "sion_fread_key_iterator_next",
                                         "sion_fread_key_iterator_reset",
                                         "sion_key_full_scan",
                                         "sion_key_list_iterator_next",
                                         "sion_key_list_iterator_reset",
                                         "sion_key_get_stat",
                                         "sion_seek_key"};

/* The handle that the calls of a table use, and the progress of these calls. */
struct stream {
  int sid;
  int task;                        /* current task, which determines the contents */
  long long start[MOST], skip;     /* offset of chunk 0 of each task, and distance to the next chunk */
  long long written[MOST];         /* bytes written by each task */
  long long key_written[MOST][32]; /* bytes written for each key, modulo 32 */
};

static inline int task_of_key(int task, unsigned long long key) {
  return task * 41 + (int)(key % 32) * 13 + 5;
}

/* Computes the chunk starts of a physical file from the stored chunk sizes of its n tasks (docs/format.md,
 * 4.2). */
static inline void lay_out(struct stream* s, const long long* chunks, int n, long long block) {
  long long at = align_up(1088 + 16LL * n, block);
  s->skip = 0;
  for (int t = 0; t < n; t++) {
    s->start[t] = at + s->skip;
    s->skip += chunks[t];
  }
}

static inline long long as_number(size_t result) { return (long long)result; }

static inline void run_key_step(struct stream* s, const struct step* e, const char* where) {
  static unsigned char data[8192];
  uint64_t key = 77;
  size_t size = 77;
  sion_key_stat_t stat = {0, 0, 0};
  const int bytes_of = task_of_key(s->task, (unsigned long long)e->a);
  long long* done = &s->key_written[s->task][(unsigned long long)e->a % 32];
  long long got;
  switch (e->call) {
    case WKEY:
      fill(data, bytes_of, *done, e->b * e->c);
      got = as_number(sion_fwrite_key(data, (uint64_t)e->a, (size_t)e->b, (size_t)e->c, s->sid));
      expect(where, "items", e->expected, got);
      if (got > 0) *done += got * e->b;
      break;
    case RKEY:
      got = as_number(sion_fread_key(data, (uint64_t)e->a, (size_t)e->b, (size_t)e->c, s->sid));
      expect(where, "items", e->expected, got);
      if (got > 0 && got <= e->c) expect_bytes(where, bytes_of, e->d, data, got * e->b);
      break;
    case NEXT:
      expect(where, "result", e->expected, sion_fread_key_iterator_next(s->sid, &key, &size));
      if (e->expected != 1) break;
      expect(where, "key", e->a, (long long)key);
      expect(where, "length", e->b, as_number(size));
      break;
    case RESET:
      expect(where, "result", e->expected, sion_fread_key_iterator_reset(s->sid));
      break;
    case SCAN:
      expect(where, "result", e->expected, sion_key_full_scan(s->sid));
      break;
    case LIST_RESET:
      expect(where, "result", e->expected, sion_key_list_iterator_reset(s->sid));
      break;
    case LISTED:
      expect(where, "result", e->expected, sion_key_list_iterator_next(s->sid, &key));
      expect(where, "key", e->a, (long long)key);
      break;
    case STAT:
      expect(where, "result", e->expected, sion_key_get_stat(s->sid, (uint64_t)e->a, &stat));
      if (e->expected != 1) break;
      expect(where, "key", e->a, (long long)stat.key);
      expect(where, "records", e->b, stat.num_blocks);
      expect(where, "bytes", e->c, stat.total_size);
      break;
    case SEEK_KEY:
      expect(where, "result", e->expected, sion_seek_key(s->sid, (uint64_t)e->a, (int)e->b, e->c));
      break;
    default:
      failed(where, "table", "a call", "none");
      break;
  }
}

static inline void run_seek(struct stream* s, const struct step* e, const char* where) {
  FILE* fp = NULL;
  const int rank = e->a == OWN ? s->task : (int)e->a;
  const int result = e->call == SEEK ? sion_seek(s->sid, rank, (int)e->b, e->c)
                                     : sion_seek_fp(s->sid, rank, (int)e->b, e->c, &fp);
  expect(where, "result", e->expected, result);
  if (result == 1 && rank >= 0) s->task = rank;
  if (e->call == SEEK_FP && e->expected == 1) expect(where, "a stream is given", 1, fp != NULL);
}

static inline void run_step(struct stream* s, const struct step* e, const char* where) {
  static unsigned char data[8192];
  const size_t size = (size_t)e->a, items = (size_t)e->b;
  long long got;
  int block = -1, blocks = -1;
  sion_int64 position = -1, *sizes = NULL;
  switch (e->call) {
    case WRITE:
    case CWRITE:
      fill(data, s->task, s->written[s->task], e->a * e->b);
      got = as_number((e->call == WRITE ? sion_fwrite : sion_coll_fwrite)(data, size, items, s->sid));
      expect(where, "items", e->expected, got);
      if (got > 0) s->written[s->task] += got * e->a;
      break;
    case READ:
    case CREAD:
      got = as_number((e->call == READ ? sion_fread : sion_coll_fread)(data, size, items, s->sid));
      expect(where, "items", e->expected, got);
      if (got > 0 && got <= e->b) expect_bytes(where, s->task, e->c, data, got * e->a);
      break;
    case FP_WRITE:
      fill(data, s->task, s->written[s->task], e->a * e->b);
      got = as_number(fwrite(data, size, items, sion_get_fp(s->sid)));
      expect(where, "items", e->expected, got);
      s->written[s->task] += got * e->a;
      break;
    case FP_READ:
      got = as_number(fread(data, size, items, sion_get_fp(s->sid)));
      expect(where, "items", e->expected, got);
      expect_bytes(where, s->task, e->c, data, got * e->a);
      break;
    case FD_WRITE:
      fill(data, s->task, s->written[s->task], e->a);
      expect(where, "bytes", e->expected, write(sion_get_fd(s->sid), data, size));
      s->written[s->task] += e->a;
      break;
    case FD_READ:
      expect(where, "bytes", e->expected, read(sion_get_fd(s->sid), data, size));
      expect_bytes(where, s->task, e->c, data, e->a);
      break;
    case FP_AT:
      expect(where, "place of the stream", s->start[s->task] + e->a * s->skip + e->b,
             ftell(sion_get_fp(s->sid)));
      break;
    case READ_NULL:
      expect(where, "items", e->expected, as_number(sion_fread(NULL, size, items, s->sid)));
      break;
    case ENSURE:
      expect(where, "result", e->expected, sion_ensure_free_space(s->sid, e->a));
      break;
    case FLUSH:
      expect(where, "result", e->expected, sion_flush(s->sid));
      break;
    case FEOF:
      expect(where, "result", e->expected, sion_feof(s->sid));
      break;
    case AVAIL:
      expect(where, "bytes", e->expected, sion_bytes_avail_in_block(s->sid));
      expect("sion_bytes_avail_in_chunk", where, e->expected, sion_bytes_avail_in_chunk(s->sid));
      break;
    case WRITTEN:
      expect(where, "bytes", e->expected, sion_get_bytes_written(s->sid));
      break;
    case GOT:
      expect(where, "bytes", e->expected, sion_get_bytes_read(s->sid));
      break;
    case AT:
      expect(where, "result", e->expected,
             sion_get_current_location(s->sid, &block, &position, &blocks, &sizes));
      if (e->expected != 1) break;
      expect(where, "block", e->a, block);
      expect(where, "position", e->b, position);
      if (e->c != SKIP) expect(where, "blocks", e->c, blocks);
      break;
    case OFFSET:
      expect(where, "offset in the file", s->start[s->task] + e->a * s->skip + e->b,
             sion_get_position(s->sid));
      break;
    case SEEK:
    case SEEK_FP:
      run_seek(s, e, where);
      break;
    case MODE:
      expect(where, "mode", e->expected, sion_get_keyval_mode(s->sid));
      break;
    case FILES:
      expect(where, "result", e->expected, sion_get_number_of_files(s->sid));
      break;
    case FILENUMBER:
      expect(where, "result", e->expected, sion_get_filenumber(s->sid));
      break;
    default:
      run_key_step(s, e, where);
      break;
  }
}

/* Makes the calls of a table, up to END, whose `who` is task `me` or ALL, and checks their results. */
static inline void run_steps(struct stream* s, const struct step* steps, int me, const char* table) {
  char where[500];
  for (int i = 0; steps[i].call != END; i++) {
    const struct step* e = &steps[i];
    if (e->who != ALL && e->who != me) continue;
    snprintf(where, sizeof where, "%s row %d, %s(%lld, %lld, %lld)", table, i, call_names[e->call], e->a,
             e->b, e->c);
    run_step(s, e, where);
  }
}

#endif
