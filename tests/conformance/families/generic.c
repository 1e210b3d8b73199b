/* generic.c: tests the generic interface in groups of one process and of several: registration, opens and
 * closes with any placement, names that the client chooses, and collective calls with and without their
 * callbacks. */
#include "client.h"

static void registrations(void) {
  const int aid = make_api(-1, 1, 1), bad[] = {-1, 4711};
  expect("sion_generic_create_api", "without a name", -1, sion_generic_create_api(NULL));
#define AGAIN(function, callback) expect(#function, "set already", 0, function(aid, callback));
  REGISTER(AGAIN)
  REGISTER_MOVERS(AGAIN)
  expect("sion_generic_register_get_multi_filename_cb", "set already", -1,
         sion_generic_register_get_multi_filename_cb(aid, file_of_client));
  for (int i = 0; i < COUNT(bad); i++) {
#define INVALID(function, callback) expect(#function, "invalid id", 0, function(bad[i], callback));
    REGISTER(INVALID)
    REGISTER_MOVERS(INVALID)
    expect("sion_generic_register_get_multi_filename_cb", "invalid id", -1,
           sion_generic_register_get_multi_filename_cb(bad[i], file_of_client));
    expect("sion_generic_free_api", "invalid id", 0, sion_generic_free_api(bad[i]));
  }
  expect("sion_generic_free_api", "result", 1, sion_generic_free_api(aid));
  expect("sion_generic_free_api", "once more", 0, sion_generic_free_api(aid));
}

static const struct step writing[] = {
    {ALL, OFFSET, 0, 0, 0, 0, 0},    {ALL, WRITE, 1, 60, 0, 60, 0}, {ALL, WRITE, 20, 2, 0, 2, 0},
    {ALL, ENSURE, 60, 0, 0, 1, 0},   {ALL, OFFSET, 1, 0, 0, 0, 0},  {ALL, WRITE, 1, 50, 0, 50, 0},
    {ALL, WRITTEN, 0, 0, 0, 150, 0}, {ALL, FLUSH, 0, 0, 0, 1, 0},   {0, END, 0, 0, 0, 0, 0}};
static const struct step reading[] = {
    {ALL, READ, 1, 100, 0, 100, 0}, {ALL, FEOF, 0, 0, 0, 0, 0}, {ALL, AT, 1, 0, 2, 1, 0},
    {ALL, READ, 1, 50, 100, 50, 0}, {ALL, FEOF, 0, 0, 0, 1, 0}, {ALL, SEEK, SION_CURRENT_RANK, 0, 50, 1, 0},
    {ALL, GOT, 0, 0, 0, 50, 0},     {0, END, 0, 0, 0, 0, 0}};
static const struct step together[] = {{ALL, CWRITE, 1, 60, 0, 60, 0},
                                       {ALL, CWRITE, 20, 2, 0, 2, 0},
                                       {ALL, CWRITE, 1, 0, 0, 0, 0},
                                       {ALL, CWRITE, 1, 50, 0, 50, 0},
                                       {0, END, 0, 0, 0, 0, 0}};
static const struct step together_back[] = {{ALL, CREAD, 1, 100, 0, 100, 0},
                                            {ALL, CREAD, 1, 0, 0, 0, 0},
                                            {ALL, CREAD, 1, 50, 100, 50, 0},
                                            {0, END, 0, 0, 0, 0, 0}};

/* An open. The placement is the file and the local rank of each task, as digits. The capability of each task
 * is the last digit of 50, 51 or 52; the string is NULL if the client has no callbacks for collective calls.
 * `stored` has the resulting chunk sizes for requests of 100 bytes in blocks of 64 bytes. */
static const struct generic_case {
  const char* name;
  int tasks, files;
  const char *file, *lrank, *mode, *read_mode;
  int names;
  const char *capabilities, *collsize, *read_collsize;
  const struct step *writing, *reading;
  long long stored[6];
} cases[] = {
#define ALONE "0", "0"
#define PLAIN NULL, NULL, NULL, writing, reading
#define TOGETHER together, together_back
#define EACH \
  { 128, 128, 128, 128, 128, 128 }
    {"one task", 1, 1, ALONE, "wb", "rb", 0, PLAIN, EACH},
    {"one task, posix, names", 1, 1, ALONE, "wb,posix", "rb,posix", 1, PLAIN, EACH},
    {"two tasks", 2, 1, "00", "01", "wb", "rb", 0, PLAIN, EACH},
    {"two files", 2, 2, "10", "00", "wb", "rb,posix", 0, PLAIN, EACH},
    {"two files, names", 4, 2, "1010", "1100", "wb", "rb", 1, PLAIN, EACH},
    {"three files, any order", 6, 3, "210012", "101010", "wb,posix", "rb", 0, PLAIN, EACH},
    {"six tasks, uneven files, names", 6, 2, "000001", "432100", "wb", "rb", 1, PLAIN, EACH},
    {"collective calls, not collective", 4, 1, "0000", "0123", "wb", "rb", 0, "0000", NULL, NULL, TOGETHER,
     EACH},
    {"collective, one task", 1, 1, ALONE, "wb,collective", "rb", 0, "0", NULL, "1", TOGETHER, EACH},
    {"collective without callbacks", 2, 1, "00", "01", "wb,collective,collsize=2", "rb", 0, NULL, NULL, "2",
     TOGETHER, EACH},
    {"collective",
     2,
     1,
     "00",
     "01",
     "wb,collective,collsize=2",
     "rb",
     0,
     "00",
     NULL,
     "2",
     TOGETHER,
     {100, 156}},
    {"collective, two groups",
     4,
     1,
     "0000",
     "0123",
     "wb,collective,collsize=2",
     "rb",
     0,
     "0000",
     NULL,
     "2",
     TOGETHER,
     {100, 156, 100, 156}},
    {"collective by the environment",
     4,
     1,
     "0000",
     "0123",
     "wb",
     "rb",
     0,
     "0000",
     "4",
     "4",
     TOGETHER,
     {100, 100, 100, 148}},
    {"collective, two files",
     4,
     2,
     "1010",
     "0011",
     "wb,collective,collsize=2",
     "rb",
     0,
     "0000",
     NULL,
     "2",
     TOGETHER,
     {100, 100, 156, 156}},
    {"collective, senders only",
     4,
     1,
     "0000",
     "0123",
     "wb,collective,collsize=1",
     "rb",
     0,
     "0101",
     NULL,
     NULL,
     TOGETHER,
     {100, 156, 100, 156}},
    {"collective, all but one only send",
     6,
     1,
     "000000",
     "012345",
     "wb,collective",
     "rb",
     0,
     "011111",
     NULL,
     NULL,
     TOGETHER,
     {100, 100, 100, 100, 100, 140}},
    {"individual calls in a collective file",
     4,
     1,
     "0000",
     "0123",
     "wb,collective,collsize=2",
     "rb",
     0,
     "0000",
     NULL,
     NULL,
     writing,
     reading,
     {100, 156, 100, 156}},
    {"merged",
     2,
     1,
     "00",
     "01",
     "wb,collective,collsize=2,cmerge",
     "rb",
     0,
     "00",
     NULL,
     NULL,
     together,
     NULL,
     {256, 128}},
};

static void lay_out_case(const struct generic_case* e, struct stream* s) {
  struct stream in_file;
  long long chunks[6] = {0};
  int n = 0;
  for (int t = 0; t < e->tasks; t++)
    if (e->file[t] == e->file[run.rank]) chunks[e->lrank[t] - '0'] = e->stored[t], n++;
  lay_out(&in_file, chunks, n, 64);
  s->start[run.rank] = in_file.start[e->lrank[run.rank] - '0'];
  s->skip = in_file.skip;
}

static void one_way(const struct generic_case* e, int aid, struct group* global, int write) {
  struct stream s;
  const int number = e->file[run.rank] - '0', lrank = write ? e->lrank[run.rank] - '0' : -5;
  int filenumber = write ? number : -5, files = write ? e->files : -5, lsize = 0;
  sion_int64 chunk = write ? 100 : -5;
  sion_int32 block = write ? 64 : -5;
  FILE* fp = NULL;
  char *newname = NULL, *wanted;
  for (int t = 0; t < e->tasks; t++) lsize += e->file[t] == e->file[run.rank];
  client.global = global;
  client.made = client.freed = 0;
  const int placed[] = {e->lrank[run.rank] - '0', lsize, number, e->files};
  memcpy(client.placed, placed, sizeof placed);
  memset(&s, 0, sizeof s);
  s.task = run.rank;
  lay_out_case(e, &s);
  if (!write) lsize = -5;
  environment("SION_COLLSIZE", write ? e->collsize : e->read_collsize);
  client.phase = OPENING;
  s.sid = sion_generic_paropen(aid, path("generic"), write ? e->mode : e->read_mode, &chunk, &block, global,
                               run.rank, run.size, &filenumber, &files, &lrank, &lsize, &fp, &newname);
  client.phase = LOCAL;
  environment("SION_COLLSIZE", NULL);
  if (!expect("sion_generic_paropen", "a handle", 1, s.sid >= 0)) return;
  expect("create_local_commgroup", "local groups made", 1, client.made);
  expect("sion_generic_paropen", "file number", number, filenumber);
  expect("sion_generic_paropen", "files", e->files, files);
  expect("sion_generic_paropen", "chunk size", write ? 100 : e->stored[run.rank], chunk);
  expect("sion_generic_paropen", "block size", 64, block);
  expect("sion_generic_paropen", "a stream", !strstr(write ? e->mode : e->read_mode, "posix"), fp != NULL);
  wanted = e->names ? file_of_client(path("generic"), number) : NULL;
  expect_text("newfname", "name", wanted ? wanted : file_name(path("generic"), number), newname);
  free(wanted);
  free(newname);
  if (write) {
    client.phase = OPENING;
    expect("sion_generic_parreinit", "result", 1, sion_generic_parreinit(s.sid, 100));
    client.phase = LOCAL;
  }
  run_rows(&s, write ? e->writing : e->reading, write ? "writing" : "reading");
  client.phase = CLOSING;
  expect("sion_generic_parclose", "result", 1, sion_generic_parclose(s.sid));
  client.phase = LOCAL;
  expect("free_local_commgroup", "local groups freed", client.made, client.freed);
}

/* Checks global ranks, chunk sizes and mapping in a serial open. The names must be those of the format. */
static void check_serially(const struct generic_case* e) {
  int ntasks = 0, nfiles = 0, blocks;
  sion_int64 skip, behind, *chunks, *ranks, *counts, *sizes;
  const int sid =
      sion_open((char*)path("generic"), "rb", &ntasks, &nfiles, NULL, &(sion_int32){0}, NULL, NULL);
  if (!expect("sion_open", "a handle", 1, sid >= 0)) return;
  expect("sion_open", "tasks", e->tasks, ntasks);
  expect("sion_open", "files", e->files, nfiles);
  sion_get_locations(sid, &ntasks, &blocks, &skip, &behind, &chunks, &ranks, &counts, &sizes);
  for (int t = 0; t < e->tasks; t++) {
    expect("sion_get_locations", "global rank", t, ranks[t]);
    expect("sion_get_locations", "chunk size", e->stored[t], chunks[t]);
  }
  sion_close(sid);
}

static void run_case(const struct generic_case* e) {
  struct group global = group_all(e->tasks == 1);
  const int aid = make_api(-1, e->capabilities != NULL, e->names);
  client.capability = e->capabilities ? 50 + e->capabilities[run.rank] - '0' : 50;
  one_way(e, aid, &global, 1);
  meet();
  if (run.rank == 0 && !(e->names && e->files > 1)) check_serially(e);
  if (e->names && e->files > 1) {
    char* part = file_of_client(path("generic"), e->files - 1);
    expect("names of the client", "the last file is there", 1, _sion_file_stat_file(part));
    free(part);
  }
  if (e->reading) one_way(e, aid, &global, 0);
  expect("sion_generic_free_api", "result", 1, sion_generic_free_api(aid));
  if (global.comm != MPI_COMM_NULL) MPI_Comm_free(&global.comm);
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv, MPI_THREAD_SINGLE);
  if (begin_case("registration", 1)) registrations();
  end_case(1);
  for (int i = 0; i < COUNT(cases); i++) {
    if (begin_case(cases[i].name, cases[i].tasks)) run_case(&cases[i]);
    end_case(cases[i].tasks);
  }
  return end_program();
}
