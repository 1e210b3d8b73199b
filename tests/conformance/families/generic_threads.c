/* generic_threads.c: tests the generic interface with the threads of one process, for which it was designed.
 * The callbacks exchange pointers. As in generic.c, a callback call that the interface's specification does
 * not announce is a failed check. */
#include "steps.h"

#include <omp.h>
#include <pthread.h>

enum thread_phase { LOCAL, OPENING, MAPPED_WRITING, COLLECTIVE, CLOSING };

struct team {
  pthread_barrier_t barrier;
  int size;
  const void* given[MOST];
  int counts[MOST];
};

/* A group as seen by one thread: the argument of the callbacks. */
struct member {
  struct team* team;
  int rank, valid, local, made, freed;
  enum thread_phase phase;
  struct team** files;
};

static pthread_mutex_t mail = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void wrong(const char* callback, const char* what) {
#pragma omp critical
  failed(callback, what, "no such call", "one");
}

#define CHECK(where, what, expected, found)                            \
  do {                                                                 \
    const long long found_here = (found);                              \
    _Pragma("omp critical") expect(where, what, expected, found_here); \
  } while (0)

static struct member* member_of(void* cg, const char* callback, enum thread_phase phase) {
  struct member* m = cg;
  if (!m || m->valid != 4711) {
    wrong(callback, "with a group that was never made, or is freed");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  if (phase == LOCAL) wrong(callback, "in a call that is local");
  return m;
}

/* The global group of this thread. Its field `phase` is the phase of the thread. */
static struct member* mine;
#pragma omp threadprivate(mine)

static struct team* new_team(int size) {
  struct team* t = calloc(1, sizeof *t);
  t->size = size;
  pthread_barrier_init(&t->barrier, NULL, (unsigned)size);
  return t;
}

static size_t width(int dtype, const char* callback, int characters) {
  if (dtype == _SION_INT32) return 4;
  if (dtype == _SION_INT64) return 8;
  if (dtype != _SION_CHAR || !characters) wrong(callback, "with this type");
  return 1;
}

static int barrier(void* cg) {
  pthread_barrier_wait(&member_of(cg, "barrier", mine->phase)->team->barrier);
  return 0;
}

static int make_group(void** lcg, void* gcg, int grank, int gsize, int lrank, int lsize, int filenumber,
                      int numfiles) {
  struct member *m = member_of(gcg, "create_local_commgroup", mine->phase), *made = calloc(1, sizeof *made);
  CHECK("create_local_commgroup", "it is of the global group", 1, m == mine);
  CHECK("create_local_commgroup", "grank", m->rank, grank);
  CHECK("create_local_commgroup", "gsize", m->team->size, gsize);
  CHECK("create_local_commgroup", "a placement", 1,
        lrank >= 0 && lrank < lsize && filenumber >= 0 && filenumber < numfiles);
  if (lrank == 0) m->files[filenumber] = new_team(lsize);
  pthread_barrier_wait(&m->team->barrier);
  *made = (struct member){m->files[filenumber], lrank, 4711, 1, 0, 0, LOCAL, NULL};
  m->made++;
  *lcg = made;
  return 0;
}

static int free_group(void* lcg) {
  struct member* m = member_of(lcg, "free_local_commgroup", mine->phase);
  CHECK("free_local_commgroup", "it was made by the client", 1, m->local);
  m->valid = 0; /* not freed, so that later uses are detected */
  mine->freed++;
  return 0;
}

static int bcastr(void* data, void* cg, int dtype, int nelem, int root) {
  struct member* m = member_of(cg, "bcastr", mine->phase);
  const size_t bytes = width(dtype, "bcastr", 1) * (size_t)nelem;
  if (m->rank == root) m->team->given[root] = data;
  pthread_barrier_wait(&m->team->barrier);
  if (m->rank != root) memcpy(data, m->team->given[root], bytes);
  pthread_barrier_wait(&m->team->barrier);
  return 0;
}

static int gather(struct member* m, const void* in, char* out, size_t unit, int nelem, int root) {
  m->team->given[m->rank] = in;
  m->team->counts[m->rank] = nelem;
  pthread_barrier_wait(&m->team->barrier);
  for (int i = 0; i < m->team->size && m->rank == root; i++) {
    memcpy(out, m->team->given[i], unit * (size_t)m->team->counts[i]);
    out += unit * (size_t)m->team->counts[i];
  }
  pthread_barrier_wait(&m->team->barrier);
  return 0;
}

static int scatter(struct member* m, const void* in, void* out, size_t unit, const int* counts, int nelem,
                   int root) {
  size_t at = 0;
  if (m->rank == root) {
    m->team->given[root] = in;
    for (int i = 0; i < m->team->size; i++) m->team->counts[i] = counts ? counts[i] : nelem;
  }
  pthread_barrier_wait(&m->team->barrier);
  for (int i = 0; i < m->rank; i++) at += unit * (size_t)m->team->counts[i];
  memcpy(out, (const char*)m->team->given[root] + at, unit * (size_t)nelem);
  pthread_barrier_wait(&m->team->barrier);
  return 0;
}

static int gatherr(void* in, void* out, void* cg, int dtype, int nelem, int root) {
  return gather(member_of(cg, "gatherr", mine->phase), in, out, width(dtype, "gatherr", 0), nelem, root);
}

static int scatterr(void* in, void* out, void* cg, int dtype, int nelem, int root) {
  return scatter(member_of(cg, "scatterr", mine->phase), in, out, width(dtype, "scatterr", 0), NULL, nelem,
                 root);
}

static int gathervr(void* in, void* out, void* cg, int dtype, int* counts, int nelem, int root) {
  (void)counts;
  if (mine->phase != MAPPED_WRITING) wrong("gathervr", "outside of mapped opens and closes to write");
  return gather(member_of(cg, "gathervr", mine->phase), in, out, width(dtype, "gathervr", 0), nelem, root);
}

static int scattervr(void* received, void* sent, void* cg, int dtype, int* counts, int nelem, int root) {
  if (mine->phase != MAPPED_WRITING) wrong("scattervr", "outside of mapped opens and closes to write");
  return scatter(member_of(cg, "scattervr", mine->phase), sent, received, width(dtype, "scattervr", 0),
                 counts, nelem, root);
}

/* A message of a sender to its collector. Each rank of each local team has a slot, in which its message stays
 * until the collector answers it. */
struct letter {
  const struct team* team;
  int rank, there;
  char* data;
  sion_int64 spec[2];
};
static struct letter letters[MOST];

static void send_letter(struct member* m, void* data, const sion_int64* spec) {
  struct letter* l = letters;
  pthread_mutex_lock(&mail);
  while (l->there) l++;
  *l = (struct letter){m->team, m->rank, 1, data, {spec[0], spec[1]}};
  pthread_cond_broadcast(&changed);
  while (l->there != 2) pthread_cond_wait(&changed, &mail);
  l->there = 0;
  pthread_mutex_unlock(&mail);
}

static struct letter* receive_letter(struct member* m, int sender) {
  pthread_mutex_lock(&mail);
  for (;;) {
    for (int i = 0; i < MOST; i++)
      if (letters[i].there == 1 && letters[i].team == m->team && letters[i].rank == sender) {
        pthread_mutex_unlock(&mail);
        return &letters[i];
      }
    pthread_cond_wait(&changed, &mail);
  }
}

static void answer(struct letter* l) {
  pthread_mutex_lock(&mail);
  l->there = 2;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mail);
}

/* Implements both callbacks that move bytes. The collector passes pieces of each sender's buffer to `write`
 * or `read`. */
static int move(const char* callback, void* data, sion_int64* spec, sion_int64 fsblksize, void* lcg,
                int collector, int first, int last, int sid, int write(const void*, sion_int64*, int),
                int read(void*, sion_int64*, int)) {
  struct member* m = member_of(lcg, callback, mine->phase);
  if (mine->phase != COLLECTIVE) wrong(callback, "outside of the collective calls");
  CHECK(callback, "collector and senders are in the group", 1,
        collector >= 0 && collector < first && last < m->team->size);
  if (m->rank != collector) {
    send_letter(m, data, spec);
    return 0;
  }
  for (int sender = first; sender <= last; sender++) {
    struct letter* l = receive_letter(m, sender);
    for (sion_int64 at = 0; at < l->spec[1]; at += fsblksize) {
      sion_int64 part[2] = {l->spec[0] + at, l->spec[1] - at < fsblksize ? l->spec[1] - at : fsblksize};
      if (write)
        write(l->data + at, part, sid);
      else
        read(l->data + at, part, sid);
    }
    answer(l);
  }
  return 0;
}

static int gather_and_execute(const void* data, sion_int64* spec, int spec_len, sion_int64 fsblksize,
                              void* lcg, int collector, int first, int last, int sid,
                              int process(const void*, sion_int64*, int)) {
  CHECK("gather_and_execute", "length of spec", 2, spec_len);
  return move("gather_and_execute", (void*)(size_t)data, spec, fsblksize, lcg, collector, first, last, sid,
              process, NULL);
}

static int execute_and_scatter(void* data, sion_int64* spec, int spec_len, sion_int64 fsblksize, void* lcg,
                               int collector, int first, int last, int sid,
                               int process(void*, sion_int64*, int)) {
  CHECK("execute_and_scatter", "length of spec", 2, spec_len);
  return move("execute_and_scatter", data, spec, fsblksize, lcg, collector, first, last, sid, NULL, process);
}

static int capability(void* cg) {
  member_of(cg, "get_capability", mine->phase);
  return 50;
}

static const struct step alone[] = {{ALL, WRITE, 1, 60, 0, 60, 0},   {ALL, WRITE, 20, 2, 0, 2, 0},
                                    {ALL, ENSURE, 60, 0, 0, 1, 0},   {ALL, WRITE, 1, 50, 0, 50, 0},
                                    {ALL, WRITTEN, 0, 0, 0, 150, 0}, {0, END, 0, 0, 0, 0, 0}};
static const struct step together[] = {{ALL, CWRITE, 1, 60, 0, 60, 0},
                                       {ALL, CWRITE, 20, 2, 0, 2, 0},
                                       {ALL, CWRITE, 1, 0, 0, 0, 0},
                                       {ALL, CWRITE, 1, 50, 0, 50, 0},
                                       {0, END, 0, 0, 0, 0, 0}};
static const struct step alone_back[] = {{ALL, READ, 1, 100, 0, 100, 0},
                                         {ALL, READ, 1, 50, 100, 50, 0},
                                         {ALL, FEOF, 0, 0, 0, 1, 0},
                                         {0, END, 0, 0, 0, 0, 0}};
static const struct step together_back[] = {
    {ALL, CREAD, 1, 100, 0, 100, 0}, {ALL, CREAD, 1, 50, 100, 50, 0}, {0, END, 0, 0, 0, 0, 0}};

static const struct thread_case {
  const char* name;
  int threads, files;
  const char *file, *lrank, *mode, *read_collsize;
  const struct step *writing, *reading;
  long long stored[6];
} cases[] = {
#define EACH \
  { 128, 128, 128, 128, 128, 128 }
    {"one thread", 1, 1, "0", "0", "wb", NULL, alone, alone_back, EACH},
    {"three threads", 3, 1, "000", "012", "wb,posix", NULL, alone, alone_back, EACH},
    {"six threads, two files", 6, 2, "011001", "021210", "wb", NULL, alone, alone_back, EACH},
    {"collective, one thread", 1, 1, "0", "0", "wb,collective", "1", together, together_back, EACH},
    {"collective, two threads",
     2,
     1,
     "00",
     "01",
     "wb,collective,collsize=2",
     "2",
     together,
     together_back,
     {100, 156}},
    {"collective, two groups",
     4,
     1,
     "0000",
     "0123",
     "wb,collective,collsize=2",
     "4",
     together,
     together_back,
     {100, 156, 100, 156}},
    {"collective, two files",
     4,
     2,
     "1010",
     "0011",
     "wb,collective,collsize=2",
     "2",
     together,
     together_back,
     {100, 100, 156, 156}},
};

static int make_api(void) {
  const int aid = sion_generic_create_api("threads");
  expect("registration", "all succeed", 11,
         sion_generic_register_create_local_commgroup_cb(aid, make_group) +
             sion_generic_register_free_local_commgroup_cb(aid, free_group) +
             sion_generic_register_barrier_cb(aid, barrier) + sion_generic_register_bcastr_cb(aid, bcastr) +
             sion_generic_register_gatherr_cb(aid, gatherr) +
             sion_generic_register_gathervr_cb(aid, gathervr) +
             sion_generic_register_scatterr_cb(aid, scatterr) +
             sion_generic_register_scattervr_cb(aid, scattervr) +
             sion_generic_register_execute_and_scatter_cb(aid, execute_and_scatter) +
             sion_generic_register_gather_and_execute_cb(aid, gather_and_execute) +
             sion_generic_register_get_capability_cb(aid, capability));
  return aid;
}

/* Runs one row on one thread. Sets the thread's phase, which the callbacks check. */
static void run_row(struct stream* s, const struct step* row, int task) {
  unsigned char data[200];
  const long long bytes = row->a * row->b;
  if (row->call != CWRITE && row->call != CREAD) {
    struct step one[2] = {*row, {0, END, 0, 0, 0, 0, 0}};
    mine->phase = LOCAL;
#pragma omp critical
    run_steps(s, one, task, "row");
    return;
  }
  mine->phase = COLLECTIVE;
  fill(data, task, s->written[task], bytes);
  const size_t got = row->call == CWRITE ? sion_coll_fwrite(data, (size_t)row->a, (size_t)row->b, s->sid)
                                         : sion_coll_fread(data, (size_t)row->a, (size_t)row->b, s->sid);
  mine->phase = LOCAL;
  s->written[task] += row->call == CWRITE ? bytes : 0;
#pragma omp critical
  {
    expect(call_names[row->call], "items", row->expected, (long long)got);
    if (row->call == CREAD) expect_bytes("sion_coll_fread", task, row->c, data, bytes);
  }
}

static void one_thread(const struct thread_case* e, int aid, struct team* team, struct team** files_made,
                       int write) {
  const int task = omp_get_thread_num();
  struct member global = {team, task, 4711, 0, 0, 0, OPENING, files_made};
  struct stream s;
  int lrank = e->lrank[task] - '0', lsize = 0, file = write ? e->file[task] - '0' : -5,
      files = write ? e->files : -5;
  sion_int64 chunk = write ? 100 : -5;
  sion_int32 block = write ? 64 : -5;
  for (int t = 0; t < e->threads; t++) lsize += e->file[t] == e->file[task];
  mine = &global;
  memset(&s, 0, sizeof s);
  s.task = task;
  s.sid = sion_generic_paropen(aid, path("threads"), write ? e->mode : "rb", &chunk, &block, &global, task,
                               e->threads, &file, &files, &lrank, &lsize, NULL, NULL);
  CHECK("sion_generic_paropen", "a handle", 1, s.sid >= 0);
  CHECK("sion_generic_paropen", "file", e->file[task] - '0', file);
  CHECK("sion_generic_paropen", "files", e->files, files);
  CHECK("sion_generic_paropen", "chunk size", write ? 100 : e->stored[task], chunk);
  CHECK("create_local_commgroup", "local groups made", 1, global.made);
  const struct step* rows = write ? e->writing : e->reading;
  for (int i = 0; rows[i].call != END && s.sid >= 0; i++) run_row(&s, &rows[i], task);
  global.phase = CLOSING;
  const int closed = sion_generic_parclose(s.sid);
  CHECK("sion_generic_parclose", "result", 1, closed);
  CHECK("free_local_commgroup", "local groups freed", 1, global.freed);
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv, MPI_THREAD_FUNNELED);
  for (int i = 0; i < COUNT(cases); i++) {
    if (begin_case(cases[i].name, 1)) {
      const int aid = make_api();
      for (int write = 1; write >= 0; write--) {
        struct team *team = new_team(cases[i].threads), *files[MOST] = {NULL};
        environment("SION_COLLSIZE", write ? NULL : cases[i].read_collsize);
#pragma omp parallel num_threads(cases[i].threads)
        one_thread(&cases[i], aid, team, files, write);
      }
      environment("SION_COLLSIZE", NULL);
      sion_generic_free_api(aid);
    }
    end_case(1);
  }
  return end_program();
}
