/* Parses and applies the description of a multifile, from which the conformance writers write it. Each line
 * has one statement, and `#` starts a comment.
 *
 *   name FILE              first argument of the open call
 *   mode WORDS             open mode, e.g. wb,posix
 *   tasks N                must precede the lists and operations
 *   fsblksize BYTES        0 or negative: automatic
 *   numfiles F             parallel only, default 1
 *   chunks BYTES ...       requested chunk size of each task
 *   globalranks R ...      serial only, default 0 1 2 ...
 *   groups COLOR ...       parallel only: one local communicator per color; default: one for all tasks
 *   files FILE ...         mapped only: physical file of each task
 *   lranks LRANK ...       mapped only: local rank of each task in its file
 *   owners PROCESS ...     mapped only: process that writes each task
 *   written BYTES ...      append only: existing bytes of each task's stream
 *   records COUNT ...      append only: existing records of each task
 *   via fwrite             `write` calls sion_fwrite (default)
 *   via file | fd          `write` calls sion_ensure_free_space, then fwrite on the exported FILE* or
 *                          write(2) on the exported descriptor
 *
 * Operations, carried out in this order:
 *
 *   write RANK BYTES
 *   ensure RANK BYTES      sion_ensure_free_space, which must succeed
 *   refuse RANK BYTES      sion_ensure_free_space, which must return 0
 *   record RANK KEY BYTES  sion_fwrite_key
 *   collwrite BYTES ...    parallel only: one sion_coll_fwrite, with a size for each task
 *   flush RANK             sion_flush
 *   die                    ends the program without a close when all tasks have reached this operation
 *
 * Byte k of the stream of rank r is f(r, k), the content of tests/conformance/content.py. Byte q of the value
 * of a task's i-th record is f((key mod 256) + i, q). */
#ifndef SION_CONFORMANCE_SCRIPT_H
#define SION_CONFORMANCE_SCRIPT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sion.h"

enum op_kind { OP_WRITE, OP_ENSURE, OP_REFUSE, OP_RECORD, OP_COLLWRITE, OP_FLUSH, OP_DIE };

struct op {
  enum op_kind kind;
  int line;
  int rank;
  uint64_t key;
  long long bytes;
  long long* sizes; /* OP_COLLWRITE: size for each task */
};

struct script {
  char name[1024], mode[256], via[8];
  int ntasks, numfiles;
  sion_int32 fsblksize;
  sion_int64* chunks;
  sion_int64* written;
  int *globalranks, *groups, *files, *lranks, *owners, *records;
  struct op* ops;
  size_t nops;
};

/* The progress of one task. */
struct progress {
  long long bytes;
  int records;
};

static inline void fail(int line, const char* what) {
  fprintf(stderr, "conformance writer: line %d: %s\n", line, what);
  exit(1);
}

static inline void* allocate(size_t count, size_t size) {
  void* memory = calloc(count ? count : 1, size);
  if (!memory) fail(0, "out of memory");
  return memory;
}

/* Returns the whole of `in` as a string, which the caller frees. */
static inline char* read_all(FILE* in) {
  size_t size = 0, room = 1 << 16;
  char* text = allocate(room, 1);
  size_t got;
  while ((got = fread(text + size, 1, room - size - 1, in)) > 0) {
    size += got;
    if (room - size < 2) {
      text = realloc(text, room *= 2);
      if (!text) fail(0, "out of memory");
    }
  }
  text[size] = 0;
  return text;
}

/* Returns the next number of the line that strtok_r parses. */
static inline long long next_number(char** state, int line) {
  const char* word = strtok_r(NULL, " ", state);
  char* end = NULL;
  if (!word) fail(line, "a number is missing");
  const long long value = strtoll(word, &end, 10);
  if (*end) fail(line, "not a number");
  return value;
}

static inline int next_rank(const struct script* script, char** state, int line) {
  const long long rank = next_number(state, line);
  if (rank < 0 || rank >= script->ntasks) fail(line, "no such rank");
  return (int)rank;
}

static inline void next_word(char* target, size_t room, char** state, int line) {
  const char* word = strtok_r(NULL, " ", state);
  if (!word || strlen(word) >= room)
    fail(line, "a word is missing or too long");
  else
    strcpy(target, word);
}

static inline void set_tasks(struct script* script, int ntasks) {
  script->ntasks = ntasks;
  script->chunks = allocate((size_t)ntasks, sizeof *script->chunks);
  script->written = allocate((size_t)ntasks, sizeof *script->written);
  script->records = allocate((size_t)ntasks, sizeof *script->records);
  script->globalranks = allocate((size_t)ntasks, sizeof *script->globalranks);
  script->groups = allocate((size_t)ntasks, sizeof *script->groups);
  script->files = allocate((size_t)ntasks, sizeof *script->files);
  script->lranks = allocate((size_t)ntasks, sizeof *script->lranks);
  script->owners = allocate((size_t)ntasks, sizeof *script->owners);
  for (int rank = 0; rank < ntasks; rank++) script->globalranks[rank] = rank;
}

static inline int op_kind_of(const char* word) {
  static const char* const names[] = {"write", "ensure", "refuse", "record", "collwrite", "flush", "die"};
  for (int kind = 0; kind < 7; kind++)
    if (!strcmp(word, names[kind])) return kind;
  return -1;
}

static inline void parse_op(struct script* script, enum op_kind kind, char** state, int line) {
  struct op* op = &script->ops[script->nops++];
  op->kind = kind;
  op->line = line;
  if (kind == OP_COLLWRITE) {
    op->sizes = allocate((size_t)script->ntasks, sizeof *op->sizes);
    for (int rank = 0; rank < script->ntasks; rank++) op->sizes[rank] = next_number(state, line);
    return;
  }
  if (kind == OP_DIE) return;
  op->rank = next_rank(script, state, line);
  if (kind == OP_FLUSH) return;
  if (kind == OP_RECORD) {
    const char* word = strtok_r(NULL, " ", state);
    if (!word)
      fail(line, "a key is missing");
    else
      op->key = strtoull(word, NULL, 10);
  }
  op->bytes = next_number(state, line);
}

/* Parses `text`, which is modified. Ends the program with a message if it is not a description. */
static inline struct script parse_script(char* text) {
  struct script script = {.numfiles = 1, .via = "fwrite"};
  size_t lines = 1;
  for (const char* c = text; *c; c++) lines += *c == '\n';
  script.ops = allocate(lines, sizeof *script.ops);
  int line = 0;
  for (char *next = text, *row; (row = strsep(&next, "\n"));) {
    line++;
    char* state = NULL;
    const char* word = strtok_r(row, " ", &state);
    if (!word || *word == '#') continue;
    const int kind = op_kind_of(word);
    if (kind >= 0)
      parse_op(&script, (enum op_kind)kind, &state, line);
    else if (!strcmp(word, "name"))
      next_word(script.name, sizeof script.name, &state, line);
    else if (!strcmp(word, "mode"))
      next_word(script.mode, sizeof script.mode, &state, line);
    else if (!strcmp(word, "via"))
      next_word(script.via, sizeof script.via, &state, line);
    else if (!strcmp(word, "tasks"))
      set_tasks(&script, (int)next_number(&state, line));
    else if (!strcmp(word, "fsblksize"))
      script.fsblksize = (sion_int32)next_number(&state, line);
    else if (!strcmp(word, "numfiles"))
      script.numfiles = (int)next_number(&state, line);
    else
      for (int rank = 0; rank < script.ntasks; rank++) {
        const long long value = next_number(&state, line);
        if (!strcmp(word, "chunks"))
          script.chunks[rank] = value;
        else if (!strcmp(word, "written"))
          script.written[rank] = value;
        else if (!strcmp(word, "records"))
          script.records[rank] = (int)value;
        else if (!strcmp(word, "globalranks"))
          script.globalranks[rank] = (int)value;
        else if (!strcmp(word, "groups"))
          script.groups[rank] = (int)value;
        else if (!strcmp(word, "files"))
          script.files[rank] = (int)value;
        else if (!strcmp(word, "lranks"))
          script.lranks[rank] = (int)value;
        else if (!strcmp(word, "owners"))
          script.owners[rank] = (int)value;
        else
          fail(line, "unknown statement");
      }
  }
  return script;
}

static inline void free_script(struct script* script) {
  for (size_t i = 0; i < script->nops; i++) free(script->ops[i].sizes);
  free(script->ops);
  free(script->chunks);
  free(script->written);
  free(script->records);
  free(script->globalranks);
  free(script->groups);
  free(script->files);
  free(script->lranks);
  free(script->owners);
}

/* Returns `bytes` bytes of the stream of `rank` from `offset` on. The caller frees them. */
static inline unsigned char* content(long long rank, long long offset, long long bytes) {
  unsigned char* data = allocate((size_t)bytes, 1);
  for (long long k = offset; k < offset + bytes; k++)
    data[k - offset] = (unsigned char)(17 * rank + 5 * k + k / 251);
  return data;
}

static inline int write_direct(const struct script* script, const void* data, size_t bytes, int sid) {
  if (!sion_ensure_free_space(sid, (sion_int64)bytes)) return 0;
  if (!strcmp(script->via, "file")) {
    FILE* fp = sion_get_fp(sid);
    return fp && fwrite(data, 1, bytes, fp) == bytes;
  }
  const int fd = sion_get_fd(sid);
  return fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes;
}

/* Carries out one operation. The current task of `sid` must be `rank`. */
static inline void apply_op(const struct script* script, const struct op* op, int rank, int sid,
                            struct progress* done) {
  const long long bytes = op->kind == OP_COLLWRITE ? op->sizes[rank] : op->bytes;
  const size_t size = (size_t)bytes;
  unsigned char* data = op->kind == OP_RECORD ? content((long long)(op->key & 255) + done->records, 0, bytes)
                                              : content(rank, done->bytes, bytes);
  switch (op->kind) {
    case OP_WRITE:
      if (!strcmp(script->via, "fwrite") ? sion_fwrite(data, 1, size, sid) != size
                                         : !write_direct(script, data, size, sid))
        fail(op->line, "the write failed");
      done->bytes += bytes;
      break;
    case OP_COLLWRITE:
      if (sion_coll_fwrite(data, 1, size, sid) != size) fail(op->line, "the collective write failed");
      done->bytes += bytes;
      break;
    case OP_RECORD:
      if (sion_fwrite_key(data, op->key, 1, size, sid) != size) fail(op->line, "the record was not written");
      done->records++;
      break;
    case OP_ENSURE:
      if (!sion_ensure_free_space(sid, bytes)) fail(op->line, "the space was refused");
      break;
    case OP_REFUSE:
      if (sion_ensure_free_space(sid, bytes)) fail(op->line, "the space was not refused");
      break;
    case OP_FLUSH:
      if (sion_flush(sid) != SION_SUCCESS) fail(op->line, "the flush failed");
      break;
    case OP_DIE:
      break; /* handled by the programs */
  }
  free(data);
}

#endif
