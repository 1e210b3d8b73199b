/* client.h: a client of the generic interface: makes its API and its global group, and runs rows with the
 * phase that the callbacks check. */
#ifndef FAMILIES_CLIENT_H
#define FAMILIES_CLIENT_H

#include "callbacks.h"

/* All register functions, each with its callback, in the order of the interface. An API is complete if it has
 * the first eight callbacks. */
#define REGISTER(ROW)                                              \
  ROW(sion_generic_register_create_local_commgroup_cb, make_group) \
  ROW(sion_generic_register_free_local_commgroup_cb, free_group)   \
  ROW(sion_generic_register_barrier_cb, barrier)                   \
  ROW(sion_generic_register_bcastr_cb, bcastr)                     \
  ROW(sion_generic_register_gatherr_cb, gatherr)                   \
  ROW(sion_generic_register_gathervr_cb, gathervr)                 \
  ROW(sion_generic_register_scatterr_cb, scatterr) ROW(sion_generic_register_scattervr_cb, scattervr)
#define REGISTER_MOVERS(ROW)                                             \
  ROW(sion_generic_register_execute_and_scatter_cb, execute_and_scatter) \
  ROW(sion_generic_register_gather_and_execute_cb, gather_and_execute)   \
  ROW(sion_generic_register_get_capability_cb, capability)

/* Returns an API that lacks callback number `without` of the first eight; -1: it has all eight. */
static inline int make_api(int without, int movers, int names) {
  const int aid = sion_generic_create_api("conformance");
  int number = 0;
  expect("sion_generic_create_api", "an id", 1, aid >= 0);
#define ADD(function, callback) \
  if (number++ != without) expect(#function, "result", 1, function(aid, callback));
  REGISTER(ADD)
  if (movers) {
    REGISTER_MOVERS(ADD)
  }
  if (names)
    expect("sion_generic_register_get_multi_filename_cb", "result", 0,
           sion_generic_register_get_multi_filename_cb(aid, file_of_client));
  return aid;
}

static inline struct group group_all(int alone) {
  struct group g = {MPI_COMM_NULL, run.rank, run.size, 4711, 0};
  if (!alone) MPI_Comm_dup(run.comm, &g.comm);
  return g;
}

/* Runs the rows one by one and sets the phase of each row, which the callbacks check. */
static inline void run_rows(struct stream* s, const struct step* rows, const char* table) {
  for (int i = 0; rows && rows[i].call != END; i++) {
    struct step one[2] = {rows[i], {0, END, 0, 0, 0, 0, 0}};
    client.phase = rows[i].call == CWRITE  ? COLLECTIVE_WRITE
                   : rows[i].call == CREAD ? COLLECTIVE_READ
                                           : LOCAL;
    run_steps(s, one, run.rank, table);
  }
  client.phase = LOCAL;
}

#endif
