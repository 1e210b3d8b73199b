/* failing_calls: what a program tells libfailing_calls.so and libfailing_allocations.so, which are loaded in
 * front of the C library (LD_PRELOAD). The functions are looked up by dlsym(). */
#ifndef FAILING_CALLS_H
#define FAILING_CALLS_H

#ifdef __cplusplus
extern "C" {
#endif

enum { failing_calls_most = 8 };

struct failing_calls_plan {
  const char* directory;       /* calls on files whose names begin so are counted, from 0 */
  long at[failing_calls_most]; /* these calls fail */
  int count;                   /* how many of at[] */
  int from_then_on;            /* and all after at[0] */
  int error;                   /* errno of a call that fails */
  int only_names;              /* only those fail that would create, rename or remove a name */
  int shortens;                /* from at[0] on transfers are interrupted, then short; nothing fails */
  int kills_with;              /* a signal that the process gets in place of the call at[0]; 0: none */
  long clock_set_back;         /* seconds, from the call at[0] on; nothing fails then */
};

/* The plan applies from now on; NULL: all succeeds. Calls are counted anew. Not while another thread makes
 * calls. */
void failing_calls_begin(const struct failing_calls_plan* plan);
/* How many calls there were since then. */
long failing_calls_count(void);

/* Allocation `at` (from 0) of those that the library makes inside its calls fails; with from_then_on, all
 * later ones too. Negative: none. Counts anew. */
void failing_allocations_begin(long at, int from_then_on);
long failing_allocations_count(void);
/* This thread enters (1) or leaves (0) a call of the library. */
void failing_allocations_inside(int inside);

#ifdef __cplusplus
}
#endif
#endif
