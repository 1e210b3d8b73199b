/* callbacks.h: the callbacks of a client of the generic interface, implemented over MPI. Every callback
 * checks its arguments and the phase in which the library calls it. A call that the interface's specification
 * does not announce is a failed check, because existing clients have never received it and some cannot handle
 * it. */
#ifndef FAMILIES_CALLBACKS_H
#define FAMILIES_CALLBACKS_H

#include "steps.h"

/* The phase of the program. In LOCAL, the library must not call any callback. It may call the v-callbacks
 * only in mapped opens and closes for writing. */
enum phase { LOCAL, OPENING, MAPPED_WRITING, COLLECTIVE_WRITE, COLLECTIVE_READ, CLOSING };

struct group {
  MPI_Comm comm; /* MPI_COMM_NULL: a group of one task, without communication */
  int rank, size, valid, local;
};

static struct {
  enum phase phase;
  int made, freed, moved; /* local groups; calls of the two callbacks that move bytes */
  int placed[4];          /* lrank, lsize, filenumber, numfiles of the open; placed[1] == 0: unknown */
  int capability;
  struct group* global;
} client;

static void wrong(const char* callback, const char* what) { failed(callback, what, "no such call", "one"); }

static struct group* group_of(void* cg, const char* callback) {
  struct group* g = cg;
  run.checks++;
  if (client.phase == LOCAL) wrong(callback, "in a call that is local");
  if (!g || g->valid != 4711) {
    wrong(callback, "with a group that was never made, or is freed");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return g;
}

static MPI_Datatype type_of(int dtype, const char* callback, int characters) {
  if (dtype == _SION_INT32) return MPI_INT;
  if (dtype == _SION_INT64) return MPI_LONG_LONG;
  if (dtype != _SION_CHAR || !characters) wrong(callback, "with this type");
  return MPI_CHAR;
}

static void look(const struct group* g, const char* callback, const void* data, int nelem, int root) {
  run.checks += 3;
  if (nelem < 0) wrong(callback, "with a negative count");
  if (nelem > 0 && !data) wrong(callback, "without data");
  if (root < 0 || root >= g->size) wrong(callback, "with a root that is not in the group");
}

static int make_group(void** lcg, void* gcg, int grank, int gsize, int lrank, int lsize, int filenumber,
                      int numfiles) {
  struct group *global = group_of(gcg, "create_local_commgroup"), *made = malloc(sizeof *made);
  const int found[] = {lrank, lsize, filenumber, numfiles};
  expect("create_local_commgroup", "it is of the global group", 1, global == client.global && !global->local);
  expect("create_local_commgroup", "grank", client.global->rank, grank);
  expect("create_local_commgroup", "gsize", client.global->size, gsize);
  for (int i = 0; i < 4 && client.placed[1]; i++)
    expect("create_local_commgroup", "placement", client.placed[i], found[i]);
  expect("create_local_commgroup", "lrank is below lsize", 1, lrank >= 0 && lrank < lsize);
  expect("create_local_commgroup", "filenumber is below numfiles", 1,
         filenumber >= 0 && filenumber < numfiles);
  *made = (struct group){MPI_COMM_NULL, lrank, lsize, 4711, 1};
  if (global->comm != MPI_COMM_NULL) MPI_Comm_split(global->comm, filenumber, lrank, &made->comm);
  client.made++;
  *lcg = made;
  return 0;
}

static int free_group(void* lcg) {
  struct group* g = group_of(lcg, "free_local_commgroup");
  expect("free_local_commgroup", "it was made by the client", 1, g->local);
  if (g->comm != MPI_COMM_NULL) MPI_Comm_free(&g->comm);
  g->valid = 0; /* not freed, so that later uses are detected */
  client.freed++;
  return 0;
}

static int barrier(void* cg) {
  struct group* g = group_of(cg, "barrier");
  MPI_Request request;
  if (g->comm == MPI_COMM_NULL) return 0;
  MPI_Ibarrier(g->comm, &request);
  return wait_for(request);
}

static int bcastr(void* data, void* cg, int dtype, int nelem, int root) {
  struct group* g = group_of(cg, "bcastr");
  MPI_Request request;
  MPI_Datatype type = type_of(dtype, "bcastr", 1);
  look(g, "bcastr", data, nelem, root);
  if (g->comm == MPI_COMM_NULL) return 0;
  MPI_Ibcast(data, nelem, type, root, g->comm, &request);
  return wait_for(request);
}

/* Copies `in` to `out`: the result of a collective operation in a group of one task. */
static int copy(const void* in, void* out, int dtype, int nelem) {
  const size_t width = dtype == _SION_INT32 ? 4 : dtype == _SION_INT64 ? 8 : 1;
  if (nelem > 0 && out != in) memmove(out, in, width * (size_t)nelem);
  return 0;
}

static int gatherr(void* in, void* out, void* cg, int dtype, int nelem, int root) {
  struct group* g = group_of(cg, "gatherr");
  MPI_Request request;
  MPI_Datatype type = type_of(dtype, "gatherr", 0);
  look(g, "gatherr", in, nelem, root);
  if (g->rank == root) look(g, "gatherr at the root", out, nelem, root);
  if (g->comm == MPI_COMM_NULL) return copy(in, out, dtype, nelem);
  MPI_Igather(in, nelem, type, out, nelem, type, root, g->comm, &request);
  return wait_for(request);
}

static int scatterr(void* in, void* out, void* cg, int dtype, int nelem, int root) {
  struct group* g = group_of(cg, "scatterr");
  MPI_Request request;
  MPI_Datatype type = type_of(dtype, "scatterr", 0);
  look(g, "scatterr", out, nelem, root);
  if (g->rank == root) look(g, "scatterr at the root", in, nelem, root);
  if (g->comm == MPI_COMM_NULL) return copy(in, out, dtype, nelem);
  MPI_Iscatter(in, nelem, type, out, nelem, type, root, g->comm, &request);
  return wait_for(request);
}

static int* places_of(const struct group* g, const int* counts, int root) {
  int* places = calloc((size_t)g->size, sizeof(int));
  for (int i = 1; i < g->size && g->rank == root; i++) places[i] = places[i - 1] + counts[i - 1];
  return places;
}

static int gathervr(void* in, void* out, void* cg, int dtype, int* counts, int nelem, int root) {
  struct group* g = group_of(cg, "gathervr");
  MPI_Request request;
  MPI_Datatype type = type_of(dtype, "gathervr", 0);
  if (client.phase != MAPPED_WRITING) wrong("gathervr", "outside of mapped opens and closes to write");
  look(g, "gathervr", in, nelem, root);
  if (g->comm == MPI_COMM_NULL) return copy(in, out, dtype, nelem);
  int* places = places_of(g, counts, root);
  MPI_Igatherv(in, nelem, type, out, counts, places, type, root, g->comm, &request);
  wait_for(request);
  free(places);
  return 0;
}

static int scattervr(void* received, void* sent, void* cg, int dtype, int* counts, int nelem, int root) {
  struct group* g = group_of(cg, "scattervr");
  MPI_Request request;
  MPI_Datatype type = type_of(dtype, "scattervr", 0);
  if (client.phase != MAPPED_WRITING) wrong("scattervr", "outside of mapped opens and closes to write");
  look(g, "scattervr", received, nelem, root);
  if (g->comm == MPI_COMM_NULL) return copy(sent, received, dtype, nelem);
  int* places = places_of(g, counts, root);
  MPI_Iscatterv(sent, counts, places, type, received, nelem, type, root, g->comm, &request);
  wait_for(request);
  free(places);
  return 0;
}

static char* file_of_client(const char* fname, int filenumber) {
  char* name = malloc(strlen(fname) + 20);
  sprintf(name, filenumber ? "%s-part-%d" : "%s", fname, filenumber);
  return name;
}

/* Checks the arguments of the two callbacks that move bytes: the spec, and a collector with the senders that
 * follow it. */
static struct group* mover(const char* callback, enum phase phase, void* lcg, int spec_len,
                           sion_int64 fsblksize, int collector, int first, int last) {
  struct group* g = group_of(lcg, callback);
  client.moved++;
  if (client.phase != phase) wrong(callback, "outside of the collective calls");
  expect(callback, "length of spec", 2, spec_len);
  expect(callback, "a positive block size", 1, fsblksize > 0);
  expect(callback, "it is of a local group", 1, g->local);
  expect(callback, "collector and senders are in the group", 1,
         collector >= 0 && collector < first && last < g->size);
  expect(callback, "the task is the collector or a sender", 1,
         g->rank == collector || (g->rank >= first && g->rank <= last));
  return g;
}

static int gather_and_execute(const void* data, sion_int64* spec, int spec_len, sion_int64 fsblksize,
                              void* lcg, int collector, int first, int last, int sid,
                              int process(const void*, sion_int64*, int)) {
  struct group* g =
      mover("gather_and_execute", COLLECTIVE_WRITE, lcg, spec_len, fsblksize, collector, first, last);
  if (g->rank != collector) {
    MPI_Send(spec, 2, MPI_LONG_LONG, collector, 1, g->comm);
    for (sion_int64 at = 0; at < spec[1]; at += fsblksize)
      MPI_Send((const char*)data + at, (int)(spec[1] - at < fsblksize ? spec[1] - at : fsblksize), MPI_CHAR,
               collector, 2, g->comm);
    return 0;
  }
  char* piece = malloc((size_t)fsblksize);
  for (int sender = first; sender <= last; sender++) {
    sion_int64 theirs[2], part[2];
    MPI_Recv(theirs, 2, MPI_LONG_LONG, sender, 1, g->comm, MPI_STATUS_IGNORE);
    for (sion_int64 at = 0; at < theirs[1]; at += fsblksize) {
      part[0] = theirs[0] + at;
      part[1] = theirs[1] - at < fsblksize ? theirs[1] - at : fsblksize;
      MPI_Recv(piece, (int)part[1], MPI_CHAR, sender, 2, g->comm, MPI_STATUS_IGNORE);
      process(piece, part, sid);
    }
  }
  free(piece);
  return 0;
}

static int execute_and_scatter(void* data, sion_int64* spec, int spec_len, sion_int64 fsblksize, void* lcg,
                               int collector, int first, int last, int sid,
                               int process(void*, sion_int64*, int)) {
  struct group* g =
      mover("execute_and_scatter", COLLECTIVE_READ, lcg, spec_len, fsblksize, collector, first, last);
  if (g->rank != collector) {
    MPI_Send(spec, 2, MPI_LONG_LONG, collector, 3, g->comm);
    for (sion_int64 at = 0; at < spec[1]; at += fsblksize)
      MPI_Recv((char*)data + at, (int)(spec[1] - at < fsblksize ? spec[1] - at : fsblksize), MPI_CHAR,
               collector, 4, g->comm, MPI_STATUS_IGNORE);
    return 0;
  }
  char* piece = malloc((size_t)fsblksize);
  for (int sender = first; sender <= last; sender++) {
    sion_int64 theirs[2], part[2];
    MPI_Recv(theirs, 2, MPI_LONG_LONG, sender, 3, g->comm, MPI_STATUS_IGNORE);
    for (sion_int64 at = 0; at < theirs[1]; at += fsblksize) {
      part[0] = theirs[0] + at;
      part[1] = theirs[1] - at < fsblksize ? theirs[1] - at : fsblksize;
      process(piece, part, sid);
      MPI_Send(piece, (int)part[1], MPI_CHAR, sender, 4, g->comm);
    }
  }
  free(piece);
  return 0;
}

static int capability(void* cg) {
  group_of(cg, "get_capability");
  return client.capability;
}

#endif
