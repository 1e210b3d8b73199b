/* failing_calls: the interface of the libraries libfailing_calls.so and libfailing_allocations.so, which a
 * test preloads into a program (LD_PRELOAD). The program finds the functions by dlsym(). */
#ifndef FAILING_CALLS_H
#define FAILING_CALLS_H

#ifdef __cplusplus
extern "C" {
#endif

enum { failing_calls_most = 8 };

struct failing_calls_plan {
  const char* directory;       /* path prefix; calls on files with this prefix are counted, from 0 */
  long at[failing_calls_most]; /* numbers of the failing calls */
  int count;                   /* number of entries in at[] */
  int from_then_on;            /* all calls after at[0] fail too */
  int error;                   /* errno of a failing call */
  int only_names;              /* only calls that create, rename or remove a name fail */
  int shortens;                /* from at[0] on, transfers are interrupted, then short; no call fails */
  int kills_with;              /* signal sent to the process instead of call at[0]; 0: none */
  long clock_set_back;         /* seconds, from call at[0] on; no call fails */
};

/* Applies `plan` to all later calls and sets their count to 0. If `plan` is NULL, all calls succeed. No other
 * thread may make calls on files meanwhile. */
void failing_calls_begin(const struct failing_calls_plan* plan);
/* Returns the number of calls since the last failing_calls_begin(). */
long failing_calls_count(void);

/* Makes allocation number `at` (from 0) inside the library's calls fail, with from_then_on also all later
 * ones. If `at` is negative, all allocations succeed. Sets the count of allocations to 0. */
void failing_allocations_begin(long at, int from_then_on);
long failing_allocations_count(void);
/* Records that this thread enters (1) or leaves (0) a call of the library. */
void failing_allocations_inside(int inside);

#ifdef __cplusplus
}
#endif
#endif
