/* parallel.c: tests sion_paropen_mpi and its older forms, sion_parclose_mpi, sion_parreinit_mpi,
 * transactions, and the common calls on their handles. Each row of `opens` describes a set. The program
 * writes it, reads it back in parallel, and checks it with a serial open. */
#include "steps.h"

/* How lComm divides the tasks: into one communicator (WHOLE), into single tasks (SELF), into pairs, or into
 * {0, 3} and {1, 2} in descending order (CROSSED). NOBODY: lComm is MPI_COMM_NULL. */
enum local { WHOLE, NOBODY, SELF, PAIRS, CROSSED, NO_POINTER };

static MPI_Comm local_comm(enum local local) {
  MPI_Comm made = MPI_COMM_NULL;
  if (local == WHOLE) MPI_Comm_dup(run.comm, &made);
  if (local == SELF) MPI_Comm_split(run.comm, run.rank, 0, &made);
  if (local == PAIRS) MPI_Comm_split(run.comm, run.rank / 2, run.rank, &made);
  if (local == CROSSED) MPI_Comm_split(run.comm, run.rank == 1 || run.rank == 2, -run.rank, &made);
  return made;
}

/* Calls whose results are valid for every chunk size of at least 128 bytes. With chunks of 128 bytes, the
 * three blocks have 120, 9 and 128 bytes. */
static const struct step writing[] = {
    {ALL, OFFSET, 0, 0, 0, 0, 0},
    {ALL, WRITE, 1, 60, 0, 60, 0},
    {ALL, AT, 0, 60, SKIP, 1, 0},
    {ALL, OFFSET, 0, 60, 0, 0, 0},
    {ALL, WRITTEN, 0, 0, 0, 60, 0},
    {ALL, AVAIL, 0, 0, 0, 0, 0},
    {ALL, FEOF, 0, 0, 0, 1, 0},
    {ALL, GOT, 0, 0, 0, -1, 0},
    {ALL, WRITE, 4, 15, 0, 15, 0},
    {ALL, WRITE, 1, 9, 0, 9, 0},
    {ALL, AT, 1, 9, SKIP, 1, 0},
    {ALL, OFFSET, 1, 9, 0, 0, 0},
    {ALL, ENSURE, 119, 0, 0, 1, 0},
    {ALL, AT, 1, 9, SKIP, 1, 0},
    {ALL, ENSURE, 129, 0, 0, 0, 0},
    {ALL, AT, 1, 9, SKIP, 1, 0},
    {ALL, ENSURE, 120, 0, 0, 1, 0},
    {ALL, AT, 2, 0, SKIP, 1, 0},
    {ALL, WRITE, 0, 5, 0, 0, 0},
    {ALL, WRITE, 5, 0, 0, 0, 0},
    {ALL, AT, 2, 0, SKIP, 1, 0},
    {ALL, WRITE, 128, 1, 0, 1, 0},
    {ALL, FLUSH, 0, 0, 0, 1, 0},
    {ALL, WRITTEN, 0, 0, 0, 257, 0},
    {ALL, READ, 1, 10, 0, 0, 0},
    {ALL, WRITTEN, 0, 0, 0, 257, 0},
    {ALL, SEEK, SION_CURRENT_RANK, SION_CURRENT_BLK, SION_CURRENT_POS, 1, 0},
    {ALL, SEEK, OWN, SION_CURRENT_BLK, SION_CURRENT_POS, 1, 0},
    {ALL, SEEK, SION_CURRENT_RANK, 0, 0, 0, 0},
    {ALL, SEEK, 77, SION_CURRENT_BLK, SION_CURRENT_POS, 0, 0},
    {ALL, OFFSET, 2, 128, 0, 0, 0},
    {ALL, WRITTEN, 0, 0, 0, 257, 0},
    {0, END, 0, 0, 0, 0, 0}};
static const long long written_blocks[] = {120, 9, 128};

static const struct step reading[] = {
    {ALL, OFFSET, 0, 0, 0, 0, 0},     {ALL, AVAIL, 0, 0, 0, 120, 0}, {ALL, GOT, 0, 0, 0, 0, 0},
    {ALL, FEOF, 0, 0, 0, 0, 0},       {ALL, READ, 1, 60, 0, 60, 0},  {ALL, GOT, 0, 0, 0, 60, 0},
    {ALL, AVAIL, 0, 0, 0, 60, 0},     {ALL, AT, 0, 60, 3, 1, 0},     {ALL, OFFSET, 0, 60, 0, 0, 0},
    {ALL, WRITTEN, 0, 0, 0, -1, 0},   {ALL, READ, 4, 15, 60, 15, 0}, {ALL, AVAIL, 0, 0, 0, 0, 0},
    {ALL, AT, 0, 120, 3, 1, 0},       {ALL, FEOF, 0, 0, 0, 0, 0},    {ALL, AT, 1, 0, 3, 1, 0},
    {ALL, OFFSET, 1, 0, 0, 0, 0},     {ALL, AVAIL, 0, 0, 0, 9, 0},   {ALL, READ, 9, 1, 120, 1, 0},
    {ALL, READ, 1, 100, 129, 100, 0}, {ALL, AT, 2, 100, 3, 1, 0},    {ALL, GOT, 0, 0, 0, 229, 0},
    {ALL, READ_NULL, 1, 5, 0, 0, 0},  {ALL, READ, 0, 5, 229, 0, 0},  {ALL, GOT, 0, 0, 0, 229, 0},
    {ALL, READ, 1, 28, 229, 28, 0},   {ALL, AVAIL, 0, 0, 0, 0, 0},   {ALL, FEOF, 0, 0, 0, 1, 0},
    {ALL, READ, 1, 1, 0, 0, 0},       {ALL, FEOF, 0, 0, 0, 1, 0},    {ALL, WRITE, 1, 1, 0, 0, 0},
    {ALL, ENSURE, 1, 0, 0, 0, 0},     {ALL, GOT, 0, 0, 0, 257, 0},   {0, END, 0, 0, 0, 0, 0}};

struct open_case {
  const char* name;
  int tasks;
  const char* mode;
  int files;
  enum local local;
  long long chunk;
  int block;
  /* Results: number of files, file and local rank of each task, byte order of the user data, whether there is
   * a stream, and the mode for reading. */
  int files_out;
  const char *file_of, *lrank_of;
  int big, ansi;
  const char* read_mode;
};

static const struct open_case opens[] = {
    {"one task", 1, "w", 1, WHOLE, 100, 64, 1, "0", "0", 0, 1, "r"},
    {"two tasks, one file", 2, "wb", 1, NOBODY, 100, 64, 1, "00", "01", 0, 1, "rb"},
    {"posix", 2, "bw,posix", 1, WHOLE, 128, 64, 1, "00", "01", 0, 0, "br,posix"},
    {"the last of ansi and posix wins", 1, "wb,posix,ansi", 1, WHOLE, 100, 64, 1, "0", "0", 0, 1,
     "rb,posix,ansi"},
    {"unknown words, empty words", 2, "bw,,nothing,other=7,ansi,", 1, WHOLE, 100, 64, 1, "00", "01", 0, 1,
     ",rb,,hello"},
    {"write wins over read", 2, "rb,wb,br", 1, WHOLE, 100, 64, 1, "00", "01", 0, 1, "rb"},
    {"big endian data", 2, "wb,endianness=big", 1, WHOLE, 100, 64, 1, "00", "01", 1, 1, "rb"},
    {"little endian data", 2, "wb,endianness=little", 1, WHOLE, 100, 64, 1, "00", "01", 0, 1,
     "rb,posix,ansi"},
    {"any other endianness is little", 1, "wb,endianness=BIG", 1, WHOLE, 100, 64, 1, "0", "0", 0, 1, "rb"},
    {"cmerge and collsize alone", 2, "wb,cmerge,collsize=2", 1, WHOLE, 100, 64, 1, "00", "01", 0, 1,
     "rb,collective"},
    {"words without effect", 2, "wb,buffered,compress", 1, WHOLE, 100, 64, 1, "00", "01", 0, 1,
     "rb,buffered"},
    {"a file each", 2, "wb", 2, WHOLE, 100, 64, 2, "01", "00", 0, 1, "rb"},
    {"four tasks, two files", 4, "wb", 2, NOBODY, 100, 64, 2, "0011", "0101", 0, 1, "rb"},
    {"four tasks, three files", 4, "wb", 3, WHOLE, 100, 64, 3, "0122", "0001", 0, 1, "rb"},
    {"six tasks, four files, posix", 6, "wb,posix", 4, WHOLE, 100, 64, 4, "012333", "000012", 0, 0,
     "rb,posix"},
    {"files by communicators: all", 2, "wb", -1, NOBODY, 100, 64, 1, "00", "01", 0, 1, "rb"},
    {"files by communicators: each", 2, "wb", -1, SELF, 100, 64, 2, "01", "00", 0, 1, "rb"},
    {"files by communicators: 0 files", 2, "wb", 0, SELF, 100, 64, 2, "01", "00", 0, 1, "rb"},
    {"files by communicators: pairs", 6, "wb", -1, PAIRS, 100, 64, 3, "001122", "010101", 0, 1, "rb"},
    {"files by communicators: crossed", 4, "wb", -1, CROSSED, 100, 64, 2, "1001", "1100", 0, 1, "rb"},
    {"large chunks, odd blocks", 2, "wb", 1, WHOLE, 128, 1, 1, "00", "01", 0, 1, "rb"},
};

static const char* set = "set"; /* name of the multifile */

/* Checks an open handle, for writing and for reading. */
static void check_handle(const struct open_case* e, int sid, FILE* fp, const char* newname,
                         const struct stream* s) {
  const int number = e->file_of[run.rank] - '0';
  int a = -7, b = -7;
  expect("sion_get_number_of_files", "files", e->files_out, sion_get_number_of_files(sid));
  expect("sion_get_filenumber", "number", number, sion_get_filenumber(sid));
  expect("sion_is_serial_opened", "result", 0, sion_is_serial_opened(sid));
  expect("sion_get_keyval_mode", "mode", SION_KEYVAL_NONE, sion_get_keyval_mode(sid));
  expect("sion_get_file_endianness", "order", e->big, sion_get_file_endianness(sid));
  expect("sion_endianness_swap_needed", "result", e->big != sion_get_endianness(),
         sion_endianness_swap_needed(sid));
  expect("sion_using_hints", "result", 0, sion_using_hints(sid));
  expect("sion_get_sizeof", "result", 1, sion_get_sizeof(sid, &a, &b));
  expect("sion_get_sizeof", "some bytes", 1, a > 0);
  expect("sion_get_sizeof", "open files", 1, b);
  expect("sion_get_fd", "there is a descriptor", !e->ansi, sion_get_fd(sid) >= 0);
  expect("sion_get_fp", "it is the stream of the open", 1, sion_get_fp(sid) == fp);
  expect("fileptr", "there is a stream", e->ansi, fp != NULL);
  if (fp) expect("fileptr", "place of the stream", s->start[run.rank], ftell(fp));
  expect_text("newfname", "name", file_name(path(set), number), newname);
  expect("sion_get_io_info", "nothing without buddy", 1, sion_get_io_info(sid) == NULL);
  int tasks, blocks;
  sion_int64 skip, behind, pointed = 0, *chunks = &pointed, *ranks = &pointed, *counts = &pointed,
                           *sizes = &pointed;
  expect("sion_get_locations", "result", 1,
         sion_get_locations(sid, &tasks, &blocks, &skip, &behind, &chunks, &ranks, &counts, &sizes));
  expect("sion_get_locations", "no arrays", 1, !chunks && !ranks && !counts && !sizes);
  expect("sion_dedup", "no duplicate", 0, sion_dedup(sid));
  expect("sion_close", "of a parallel handle", 0, sion_close(sid));
}

/* Checks the arrays of sion_get_locations and the mapping with a serial open. */
static void check_serially(const struct open_case* e) {
  int ntasks = 0, nfiles = 0, maxblocks = 0, mapped = -7, files = -7;
  sion_int32 block = 0, *mapping = NULL;
  sion_int64 skip, behind, *chunks = NULL, *ranks, *counts, *sizes;
  int* global = NULL;
  const int sid = sion_open((char*)path(set), "rb", &ntasks, &nfiles, &chunks, &block, &global, NULL);
  if (!expect("sion_open", "a handle", 1, sid >= 0)) return;
  expect("sion_open", "tasks", e->tasks, ntasks);
  expect("sion_open", "files", e->files_out, nfiles);
  expect("sion_open", "block size", e->block, block);
  expect("sion_get_locations", "result", 1,
         sion_get_locations(sid, &ntasks, &maxblocks, &skip, &behind, &chunks, &ranks, &counts, &sizes));
  expect("sion_get_locations", "tasks", e->tasks, ntasks);
  expect("sion_get_locations", "blocks", 3, maxblocks);
  for (int t = 0; t < e->tasks; t++) {
    expect("sion_get_locations", "chunk size", align_up(e->chunk, e->block), chunks[t]);
    expect("sion_get_locations", "global rank", t, ranks[t]);
    expect("sion_open", "global rank", t, global[t]);
    expect("sion_get_locations", "blocks of a task", 3, counts[t]);
    for (int k = 0; k < 3; k++)
      expect("sion_get_locations", "block size", written_blocks[k], sizes[ntasks * k + t]);
  }
  expect("sion_get_mapping", "result", 1, sion_get_mapping(sid, &mapped, &mapping, &files));
  expect("sion_get_mapping", "files", e->files_out, files);
  expect("sion_get_mapping", "tasks", e->files_out > 1 ? e->tasks : -1, mapped);
  for (int t = 0; t < mapped && mapping; t++) {
    expect("sion_get_mapping", "file", e->file_of[t] - '0', mapping[2 * t]);
    expect("sion_get_mapping", "local rank", e->lrank_of[t] - '0', mapping[2 * t + 1]);
  }
  expect("sion_close", "result", 1, sion_close(sid));
}

/* Returns a stream with the offsets of this task's chunks in its file. */
static struct stream stream_of(const struct open_case* e) {
  struct stream s, in_file;
  long long chunks[MOST];
  int n = 0;
  memset(&s, 0, sizeof s);
  for (int t = 0; t < e->tasks; t++)
    if (e->file_of[t] == e->file_of[run.rank]) chunks[n++] = align_up(e->chunk, e->block);
  lay_out(&in_file, chunks, n, e->block);
  s.task = run.rank;
  s.start[run.rank] = in_file.start[e->lrank_of[run.rank] - '0'];
  s.skip = in_file.skip;
  return s;
}

static void one_way(const struct open_case* e, int write) {
  struct stream s = stream_of(e);
  MPI_Comm local = local_comm(e->local);
  int files = write ? e->files : -7, rank = -7;
  sion_int64 chunk = write ? e->chunk : -7;
  sion_int32 block = write ? e->block : -7;
  FILE* fp = (FILE*)&s;
  char* newname = NULL;
  s.sid = sion_paropen_mpi(path(set), write ? e->mode : e->read_mode, &files, run.comm, &local, &chunk,
                           &block, &rank, &fp, &newname);
  if (expect("sion_paropen_mpi", "a handle", 1, s.sid >= 0)) {
    expect("sion_paropen_mpi", "files", e->files_out, files);
    expect("sion_paropen_mpi", "global rank", run.rank, rank);
    expect("sion_paropen_mpi", "chunk size", write ? e->chunk : align_up(e->chunk, e->block), chunk);
    expect("sion_paropen_mpi", "block size", e->block, block);
    check_handle(e, s.sid, fp, newname, &s);
    run_steps(&s, write ? writing : reading, run.rank, write ? "writing" : "reading");
    if (write) expect("sion_dup", "of a handle that writes", -1, sion_dup(s.sid, SION_DUP_ALL, run.rank, 0));
    if (!write) expect("sion_parreinit_mpi", "of a handle that reads", 0, sion_parreinit_mpi(s.sid, 100));
    expect("sion_parclose_mpi", "result", 1, sion_parclose_mpi(s.sid));
    expect("sion_parclose_mpi", "once more", -1, sion_parclose_mpi(s.sid));
    free(newname);
  }
  if (local != MPI_COMM_NULL) MPI_Comm_free(&local);
  meet();
}

struct refusal {
  const char* name;
  int tasks;
  const char *file, *mode;
  int files; /* 0: the pointer is NULL */
  enum local local;
  long long chunk[2]; /* of task 0 and of all other tasks */
  int files_out;      /* result in *numFiles; SKIP: not checked */
};

/* Opens that must fail on all tasks. "read me" is a set of one file, written by two tasks. */
static const struct refusal refusals[] = {
    {"neither read nor write", 2, "other", "posix", 1, WHOLE, {100, 100}, SKIP},
    {"words are case-sensitive", 1, "other", "WB", 1, WHOLE, {100, 100}, SKIP},
    {"no mode", 1, "other", "", 1, WHOLE, {100, 100}, SKIP},
    {"no lComm", 2, "other", "wb", 1, NO_POINTER, {100, 100}, SKIP},
    {"no lComm in reading", 2, "read me", "rb", 1, NO_POINTER, {100, 100}, SKIP},
    {"no numFiles", 2, "other", "wb", 0, WHOLE, {100, 100}, SKIP},
    {"no numFiles in reading", 2, "read me", "rb", 0, WHOLE, {100, 100}, SKIP},
    {"negative chunk size", 2, "other", "wb", 1, WHOLE, {-1, -1}, SKIP},
    {"negative chunk size of one task", 2, "other", "wb", 1, WHOLE, {100, -1}, SKIP},
    {"more files than tasks", 2, "other", "wb", 3, WHOLE, {100, 100}, SKIP},
    {"no such file", 2, "missing", "rb", 1, WHOLE, {100, 100}, -1},
    {"no such file, posix", 4, "missing", "rb,posix", 1, WHOLE, {100, 100}, -1},
    {"no such directory", 2, "missing/other", "wb", 1, WHOLE, {100, 100}, SKIP},
    {"fewer tasks than written", 1, "read me", "rb", 1, WHOLE, {100, 100}, -1},
    {"more tasks than written", 4, "read me", "rb", 1, WHOLE, {100, 100}, -1},
    {"keys in metadata are no mode", 2, "other", "wb,keyval=meta", 1, WHOLE, {100, 100}, SKIP},
    {"hashed keys are no mode", 2, "other", "wb,keyval=hash", 1, WHOLE, {100, 100}, SKIP},
    {"blanks belong to words", 1, "other", " wb", 1, WHOLE, {100, 100}, SKIP},
};

static void refuse(const struct refusal* e) {
  MPI_Comm local = local_comm(e->local);
  int files = e->files, rank = -7;
  sion_int64 chunk = e->chunk[run.rank > 0];
  sion_int32 block = 64;
  FILE* fp = (FILE*)&files;
  char untouched, *newname = &untouched;
  const int sid =
      sion_paropen_mpi(path(e->file), e->mode, e->files ? &files : NULL, run.comm,
                       e->local == NO_POINTER ? NULL : &local, &chunk, &block, &rank, &fp, &newname);
  expect("sion_paropen_mpi", "result", -1, sid);
  expect("sion_paropen_mpi", "fileptr is not touched", 1, fp == (FILE*)&files);
  expect("sion_paropen_mpi", "newfname is not touched", 1, newname == &untouched);
  if (e->files_out != SKIP) expect("sion_paropen_mpi", "files", e->files_out, files);
  if (sid >= 0) sion_parclose_mpi(sid);
  if (local != MPI_COMM_NULL) MPI_Comm_free(&local);
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv, MPI_THREAD_SINGLE);
  for (int i = 0; i < COUNT(opens); i++) {
    if (begin_case(opens[i].name, opens[i].tasks)) {
      one_way(&opens[i], 1);
      one_way(&opens[i], 0);
      if (run.rank == 0) check_serially(&opens[i]);
    }
    end_case(opens[i].tasks);
  }
  static const struct open_case two = {
      "written for refusals", 2, "wb", 1, WHOLE, 100, 64, 1, "00", "01", 0, 1, "rb"};
  if (begin_case(two.name, 2)) {
    set = "read me";
    one_way(&two, 1);
  }
  end_case(2);
  for (int i = 0; i < COUNT(refusals) && run.world_size > 1; i++) {
    if (begin_case(refusals[i].name, refusals[i].tasks)) refuse(&refusals[i]);
    end_case(refusals[i].tasks);
  }
  return end_program();
}
