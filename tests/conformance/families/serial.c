/* serial.c: tests sion_open, sion_open_rank and sion_close, and the queries of locations on serial handles.
 */
#include "steps.h"

#define CBLK SION_CURRENT_BLK
#define CPOS SION_CURRENT_POS

/* Writes all tasks in turn. Rows with SEEK select the task. The requested chunks have 100, 0 and 200 bytes,
 * in blocks of 64 bytes. */
static const struct step writing[] = {{ALL, OFFSET, 0, 0, 0, 0, 0},      {ALL, WRITE, 1, 60, 0, 60, 0},
                                      {ALL, SEEK, 2, CBLK, CPOS, 1, 0},  {ALL, OFFSET, 0, 0, 0, 0, 0},
                                      {ALL, WRITE, 10, 20, 0, 20, 0},    {ALL, SEEK, 0, CBLK, CPOS, 1, 0},
                                      {ALL, OFFSET, 0, 60, 0, 0, 0},     {ALL, WRITTEN, 0, 0, 0, 60, 0},
                                      {ALL, WRITE, 1, 69, 0, 69, 0},     {ALL, AT, 1, 69, SKIP, 1, 0},
                                      {ALL, OFFSET, 1, 69, 0, 0, 0},     {ALL, SEEK, 1, CBLK, CPOS, 1, 0},
                                      {ALL, WRITE, 1, 1, 0, 0, 0},       {ALL, ENSURE, 1, 0, 0, 0, 0},
                                      {ALL, WRITTEN, 0, 0, 0, 0, 0},     {ALL, SEEK, 3, CBLK, CPOS, 0, 0},
                                      {ALL, SEEK, -1, CBLK, CPOS, 0, 0}, {ALL, SEEK, 2, CBLK, CPOS, 1, 0},
                                      {ALL, WRITE, 1, 56, 0, 56, 0},     {ALL, OFFSET, 0, 256, 0, 0, 0},
                                      {ALL, WRITTEN, 0, 0, 0, 256, 0},   {ALL, FEOF, 0, 0, 0, 1, 0},
                                      {ALL, GOT, 0, 0, 0, -1, 0},        {ALL, FILENUMBER, 0, 0, 0, 1, 0},
                                      {ALL, FILES, 0, 0, 0, 1, 0},       {0, END, 0, 0, 0, 0, 0}};
static const struct step reading[] = {
    {ALL, OFFSET, 0, 0, 0, 0, 0},  {ALL, READ, 1, 20, 0, 20, 0},
    {ALL, SEEK, 2, 0, 0, 1, 0},    {ALL, OFFSET, 0, 0, 0, 0, 0},
    {ALL, AVAIL, 0, 0, 0, 256, 0}, {ALL, READ, 1, 256, 0, 256, 0},
    {ALL, FEOF, 0, 0, 0, 1, 0},    {ALL, SEEK, 0, CBLK, CPOS, 1, 0},
    {ALL, GOT, 0, 0, 0, 20, 0},    {ALL, READ, 1, 40, 20, 40, 0},
    {ALL, FEOF, 0, 0, 0, 0, 0},    {ALL, AT, 1, 0, 2, 1, 0},
    {ALL, READ, 69, 1, 60, 1, 0},  {ALL, FEOF, 0, 0, 0, 1, 0},
    {ALL, SEEK, 1, 0, 0, 1, 0},    {ALL, FEOF, 0, 0, 0, 1, 0},
    {ALL, AT, 0, 0, 1, 1, 0},      {ALL, SEEK, 0, 1, 60, 1, 0},
    {ALL, READ, 1, 9, 120, 9, 0},  {ALL, SEEK, 2, SION_END_POS, -6, 1, 0},
    {ALL, READ, 1, 6, 250, 6, 0},  {ALL, SEEK, 0, SION_ABSOLUTE_POS, 61, 1, 0},
    {ALL, AT, 1, 1, 2, 1, 0},      {ALL, SEEK, 3, 0, 0, 0, 0},
    {ALL, SEEK, 2, 1, 0, 0, 0},    {ALL, SEEK, 2, 0, 10, 1, 0},
    {ALL, READ, 1, 5, 10, 5, 0},   {ALL, FILES, 0, 0, 0, 1, 0},
    {ALL, WRITE, 1, 1, 0, 0, 0},   {0, END, 0, 0, 0, 0, 0}};

static const sion_int64 requested[] = {100, 0, 200}, stored[] = {128, 0, 256};
static const int ranks_given[] = {7, 5, 3};

static struct stream new_stream(int sid) {
  struct stream s;
  const long long chunks[] = {128, 0, 256};
  memset(&s, 0, sizeof s);
  lay_out(&s, chunks, 3, 64);
  s.sid = sid;
  return s;
}

static void write_tasks(const char* mode, int nfiles) {
  int ntasks = 3, blocks = -7, *ranks = (int[]){7, 5, 3};
  sion_int32 block = 64;
  sion_int64 *chunks = (sion_int64[]){100, 0, 200}, skip, behind, *c, *g, *n, *b;
  FILE* fp = (FILE*)&ntasks;
  const int sid = sion_open((char*)path("serial"), mode, &ntasks, &nfiles, &chunks, &block, &ranks, &fp);
  struct stream s = new_stream(sid);
  if (!expect("sion_open", "a handle", 1, sid >= 0)) return;
  expect("sion_open", "block size", 64, block);
  expect("sion_open", "a stream in ansi mode", !strstr(mode, "posix"), fp != NULL);
  if (fp) expect("sion_open", "place of the stream", s.start[0], ftell(fp));
  expect("sion_is_serial_opened", "result", 1, sion_is_serial_opened(sid));
  expect("sion_get_locations", "result", 1,
         sion_get_locations(sid, &ntasks, &blocks, &skip, &behind, &c, &g, &n, &b));
  expect("sion_get_locations", "blocks are not known", -1, blocks);
  expect("sion_get_locations", "nor is where the metadata go", -1, behind);
  run_steps(&s, writing, 0, "writing");
  for (int t = 0; t < 3; t++) expect("sion_open", "chunk sizes are not changed", requested[t], chunks[t]);
  expect("sion_dup", "result", -1, sion_dup(sid, SION_DUP_ALL, 0, 0));
  expect("sion_parclose_mpi", "is another family's", 0, sion_parclose_mpi(sid) == 1);
  expect("sion_close", "result", 1, sion_close(sid));
  expect("sion_close", "once more", 0, sion_close(sid));
}

/* How the open gets its array arguments: none, pointers to arrays that the library allocates, or arrays of
 * the caller, which it fills. */
enum arrays { NONE, MADE, FILLED };

static void read_tasks(const char* mode, enum arrays arrays) {
  int ntasks = -7, nfiles = -7, blocks = -7, given_ranks[3], *ranks = arrays == FILLED ? given_ranks : NULL,
      size = -7;
  sion_int32 block = -7, *mapping = (sion_int32*)&ntasks;
  sion_int64 given[3], *chunks = arrays == FILLED ? given : NULL, skip, behind, *c, *g, *n, *b;
  FILE* fp = NULL;
  const int sid = sion_open((char*)path("serial"), mode, &ntasks, &nfiles, arrays == NONE ? NULL : &chunks,
                            &block, arrays == NONE ? NULL : &ranks, &fp);
  struct stream s = new_stream(sid);
  if (!expect("sion_open", "a handle", 1, sid >= 0)) return;
  expect("sion_open", "tasks", 3, ntasks);
  expect("sion_open", "files", 1, nfiles);
  expect("sion_open", "block size", 64, block);
  expect("sion_open", "a stream in ansi mode", !strstr(mode, "posix"), fp != NULL);
  for (int t = 0; t < 3 && arrays != NONE; t++) {
    expect("sion_open", "chunk size", stored[t], chunks[t]);
    expect("sion_open", "global rank", ranks_given[t], ranks[t]);
  }
  expect("sion_get_locations", "result", 1,
         sion_get_locations(sid, &ntasks, &blocks, &skip, &behind, &c, &g, &n, &b));
  expect("sion_get_locations", "tasks", 3, ntasks);
  expect("sion_get_locations", "blocks", 2, blocks);
  expect("sion_get_locations", "bytes from round to round", 384, skip);
  expect("sion_get_locations", "where the metadata are", s.start[0] + 2 * 384, behind);
  for (int t = 0; t < 3; t++) {
    static const long long counts[] = {2, 1, 1}, first[] = {60, 0, 256};
    expect("sion_get_locations", "chunk size", stored[t], c[t]);
    expect("sion_get_locations", "global rank", ranks_given[t], g[t]);
    expect("sion_get_locations", "blocks of a task", counts[t], n[t]);
    expect("sion_get_locations", "block size", first[t], b[t]);
  }
  expect("sion_get_locations", "size of the second block", 69, b[3]);
  expect("sion_get_current_locations", "result", 1, sion_get_current_locations(sid, &ntasks, &c, &n));
  for (int t = 0; t < 3; t++) {
    expect("sion_get_current_locations", "offset of a task", s.start[t], c[t]);
    expect("sion_get_current_locations", "block of a task", 0, n[t]);
  }
  expect("sion_get_mapping", "result", 1, sion_get_mapping(sid, &size, &mapping, &nfiles));
  expect("sion_get_mapping", "no mapping of a single file", -1, size);
  expect("sion_get_mapping", "it is not touched", 1, mapping == (sion_int32*)&ntasks);
  run_steps(&s, reading, 0, "reading");
  expect("sion_close", "result", 1, sion_close(sid));
  if (arrays == MADE) free(chunks), free(ranks);
}

/* Opens of one task `rank`. `bytes` is the size of its first block, or -1 if the open must fail. */
static const struct {
  const char* mode;
  int rank, bytes;
} ranks_read[] = {{"rb", 0, 60}, {"rb,posix", 2, 256}, {"rb", 1, 0},  {"", 2, 256},
                  {"wb", 0, -1}, {"rb", 3, -1},        {"rb", -1, -1}};

static void read_rank(int i) {
  int rank = ranks_read[i].rank;
  sion_int64 chunk = -7;
  sion_int32 block = -7;
  const int sid = sion_open_rank((char*)path("serial"), ranks_read[i].mode, &chunk, &block, &rank, NULL);
  if (ranks_read[i].bytes < 0) {
    expect("sion_open_rank", "result", -1, sid);
    return;
  }
  struct stream s = new_stream(sid);
  if (!expect("sion_open_rank", "a handle", 1, sid >= 0)) return;
  s.task = rank;
  expect("sion_open_rank", "chunk size", stored[rank], chunk);
  expect("sion_open_rank", "block size", 64, block);
  expect("sion_is_serial_opened", "result", 1, sion_is_serial_opened(sid));
  expect("sion_bytes_avail_in_block", "bytes", ranks_read[i].bytes, sion_bytes_avail_in_block(sid));
  run_step(&s, &(struct step){ALL, SEEK, rank, 0, 0, 1, 0}, "own rank");
  run_step(&s, &(struct step){ALL, SEEK, (rank + 1) % 3, 0, 0, 0, 0}, "another rank");
  run_step(&s, &(struct step){ALL, READ, 1, ranks_read[i].bytes, 0, ranks_read[i].bytes, 0}, "reading");
  run_step(&s, &(struct step){ALL, FEOF, 0, 0, 0, rank != 0, 0}, "reading");
  expect("sion_close", "result", 1, sion_close(sid));
}

/* Opens for writing, and whether each must succeed. SIONlib refuses more than one physical file, although the
 * SIONlib paper describes such files. */
static const struct {
  const char *name, *file;
  int ntasks, nfiles, chunks, ranks, opens;
} opens[] = {
    {"0 files", "other", 3, 0, 1, 1, 1},         {"negative number of tasks", "other", -1, 1, 1, 1, 0},
    {"several files", "other", 3, 2, 1, 1, 1},   {"no chunk sizes", "other", 3, 1, 0, 1, 0},
    {"no global ranks", "other", 3, 1, 1, 0, 0}, {"no such directory", "missing/other", 3, 1, 1, 1, 0}};

static void try_open(int i) {
  int ntasks = opens[i].ntasks, nfiles = opens[i].nfiles, *ranks = opens[i].ranks ? (int[]){0, 1, 2} : NULL;
  sion_int64* chunks = opens[i].chunks ? (sion_int64[]){64, 64, 64} : NULL;
  sion_int32 block = 64;
  int sid = sion_open((char*)path(opens[i].file), "wb", &ntasks, &nfiles, &chunks, &block, &ranks, NULL);
  expect("sion_open", "it opens", opens[i].opens, sid >= 0);
  if (sid >= 0) expect("sion_close", "result", 1, sion_close(sid));
  if (opens[i].chunks && opens[i].ranks) return;
  sid = sion_open((char*)path(opens[i].file), "wb", &ntasks, &nfiles, opens[i].chunks ? &chunks : NULL,
                  &block, opens[i].ranks ? &ranks : NULL, NULL);
  expect("sion_open", "NULL for the array", -1, sid);
}

static void closed_by_the_program(void) {
  int ntasks = 0, nfiles = 0;
  FILE* fp = NULL;
  const int sid = sion_open((char*)path("serial"), "rb", &ntasks, &nfiles, NULL, &(sion_int32){0}, NULL, &fp);
  if (!expect("sion_open", "a stream", 1, sid >= 0 && fp != NULL)) return;
  fclose(fp);
  expect("sion_set_fp_closed", "result", 1, sion_set_fp_closed(sid));
  /* SIONlib's close returns 0 in this case, although the file is correct. */
  expect("sion_close", "after sion_set_fp_closed", 1, sion_close(sid));
}

int main(int argc, char** argv) {
  static const char* const modes[][2] = {{"wb", "rb"}, {"wb,posix", "br,posix"}, {"w,ansi", ""}};
  begin_program(&argc, &argv, MPI_THREAD_SINGLE);
  for (int i = 0; i < COUNT(modes); i++) {
    if (begin_case(i ? "written for reading" : "written for all cases", 1)) {
      write_tasks(modes[i][0], i == 0);
      for (enum arrays arrays = NONE; arrays <= FILLED; arrays++) read_tasks(modes[i][1], arrays);
    }
    end_case(1);
  }
  for (int i = 0; i < COUNT(ranks_read); i++) {
    if (begin_case("one rank", 1)) read_rank(i);
    end_case(1);
  }
  for (int i = 0; i < COUNT(opens); i++) {
    if (begin_case(opens[i].name, 1)) try_open(i);
    end_case(1);
  }
  if (begin_case("a stream that the program closes", 1)) closed_by_the_program();
  end_case(1);
  return end_program();
}
