/* background: a simulation that saves in the background and restarts from its newest durable save
 * (docs/async.md).
 *
 *     mpirun -n 4 background [DIRECTORY [STEPS]]
 *
 * Every tenth step it saves the state of each task and computes on while the bytes go to disk. Kill it at any
 * time and start it again with the same number of tasks. */
#include <math.h>
#include <mpi.h>
#include <sheaf.h>
#include <sheaf_mpi.h>
#include <sion.h>
#include <stdio.h>
#include <stdlib.h>

enum { cells = 1 << 16, save_interval = 10 };

struct state {
  long long step;
  double cell[cells];
};

static void fail(const char* what) {
  fprintf(stderr, "background: %s: %s\n", what, sheaf_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Opens a multifile with a stream for each task. Collective. */
static int open_together(const char* name, const char* mode) {
  MPI_Comm group = MPI_COMM_NULL;
  int files = 1;
  int block = -1;
  int rank;
  sion_int64 chunk = sizeof(struct state);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int sid = sion_paropen_mpi(name, mode, &files, MPI_COMM_WORLD, &group, &chunk, &block, &rank, NULL, NULL);
  if (sid < 0) fail("open");
  return sid;
}

/* Begins a save and returns its handle. The state may change as soon as the call returns. Collective. */
static sheaf_save* save(const char* directory, const struct state* state) {
  char name[4096];
  snprintf(name, sizeof name, "%s/step.%08lld.sion", directory, state->step);
  int sid = open_together(name, "bw,async,keep=2");
  if (sion_fwrite(state, sizeof *state, 1, sid) != 1) fail("write");
  sheaf_save* started = sheaf_parclose_async(sid);
  if (!started) fail("save");
  return started;
}

/* Waits for a save of which all tasks have a handle, and releases it. Collective. */
static void finish(sheaf_save* started) {
  if (!started) return;
  if (!sheaf_save_wait_mpi(started, SHEAF_SAVE_DURABLE, MPI_COMM_WORLD)) fail(sheaf_save_error(started));
  sheaf_save_free(started);
}

/* Reads the newest durable save, if there is one. Collective. */
static void restart(const char* directory, struct state* state) {
  char pattern[4096];
  char name[4096] = "";
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(pattern, sizeof pattern, "%s/step.*.sion", directory);
  long long length = rank == 0 ? sheaf_latest(pattern, name, sizeof name) : 0; /* one task chooses */
  MPI_Bcast(&length, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (length < 0) fail("latest");
  if (length == 0) return;
  int sid = open_together(name, "br");
  if (sion_fread(state, sizeof *state, 1, sid) != 1) fail("read");
  sion_parclose_mpi(sid);
  if (rank == 0) printf("restarts at step %lld from %s\n", state->step, name);
}

static void compute(struct state* state) {
  for (int i = 0; i < cells; ++i) state->cell[i] = sqrt(0.75 * state->cell[i] * state->cell[i] + 0.25 * i);
  ++state->step;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* directory = argc > 1 ? argv[1] : ".";
  const long long steps = argc > 2 ? atoll(argv[2]) : 100;
  struct state* state = calloc(1, sizeof *state);
  if (!state) MPI_Abort(MPI_COMM_WORLD, 1);
  restart(directory, state);
  sheaf_save* pending = NULL;
  while (state->step < steps) {
    compute(state);
    if (state->step % save_interval != 0) continue;
    finish(pending); /* at most one save is in memory */
    pending = save(directory, state);
  }
  finish(pending);
  double sum = 0;
  double all;
  for (int i = 0; i < cells; ++i) sum += state->cell[i];
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("step %lld: %.17g\n", state->step, all);
  free(state);
  MPI_Finalize();
  return 0;
}
