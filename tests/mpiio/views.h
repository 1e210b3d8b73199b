/* views: file views, memory types and calls of MPI-IO against a byte model, from the standard (MPI 3.1,
 * chapters 4 and 13). A case is a file type, an etype, a memory type and a form of call. All tasks compute
 * the expected contents of the file.
 *
 * views_shapes.c   the table of shapes: datatypes from every constructor (a new case is a row there)
 * views_types.c    the table of etypes
 * views_ways.c     the table of ways: a writing and a reading call, and the pointer that they use
 * views_model.c    the byte map of a datatype, checks and their messages
 * views_cases.c    one case; views_main.c runs all cases
 * views_refused.c  the tables of invalid calls, with the class of the error */
#pragma once

#include <mpi.h>

extern int rank, tasks;

/* Counts checks on every task. A failed check prints its location. */

/* Names the subject of the following checks; all tasks print it with a failure. */
void now(const char* format, ...) __attribute__((format(printf, 1, 2)));
int check(int right, const char* format, ...) __attribute__((format(printf, 2, 3)));
int is(long long found, long long expected, const char* what);
int class_of(int code);
/* Checks that `code` has the class `expected`, an error class or MPI_SUCCESS. A failure prints the names
 * of both. */
int gives(int code, int expected, const char* call);
/* Collective. Prints "N checks, M failed" on task 0 and returns whether all checks passed. */
int summary(void);

enum use {
  in_file = 1,     /* may be the file type of a view */
  in_memory = 2,   /* may be filled by a read: no byte twice */
  as_source = 4,   /* may be written from */
  dealt = 8,       /* file types of different tasks are disjoint at the same displacement */
  apart_only = 16, /* not on units with gaps between them */
};

struct shape {
  const char* name;
  /* Creates a type of `unit`s for task `who` of `among`, uncommitted. Displacements in bytes are multiples
   * of the unit's extent. */
  MPI_Datatype (*make)(MPI_Datatype unit, int who, int among);
  int use;
};
extern const struct shape shapes[];
extern const int shape_count;

/* An elementary type, uncommitted. Some are predefined by MPI. */
struct elementary {
  const char* name;
  MPI_Datatype (*make)(void);
};
extern const struct elementary etypes[];
extern const int etype_count;

MPI_Datatype resized(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent); /* frees `type` */
MPI_Datatype committed(MPI_Datatype type);
MPI_Aint extent_of(MPI_Datatype type);
int size_of(MPI_Datatype type);
int is_named(MPI_Datatype type); /* returns whether a type is predefined and thus must not be freed */

enum pointer { explicit_offset, own_pointer, shared_pointer, ordered_pointer };

struct buffer {
  void* address;
  int count;
  MPI_Datatype type;
};

struct way {
  const char* name;
  int (*writes)(MPI_File, MPI_Offset, const struct buffer*, MPI_Status*);
  int (*reads)(MPI_File, MPI_Offset, const struct buffer*, MPI_Status*);
  enum pointer pointer;
};
extern const struct way ways[];
extern const int way_count;

/* Offset of each byte of a type's data, in the order of the type map, and the distance between instances. */
struct map {
  long size;
  long* at;
  MPI_Aint extent, low, high; /* bytes from low to high - 1 */
};
struct map map_of(MPI_Datatype committed_type);
void forget(struct map* map);
/* Returns the offset of byte `i` of the stream formed by instances of the map. */
long long place(const struct map* map, long long i);
/* Returns whether file offsets increase along the stream over all instances. */
int rises(const struct map* map);

/* Returns byte `i` of the stream that task `who` writes in case `number`. */
unsigned char value(int number, int who, long long i);

enum { file_room = 1 << 18 }; /* bytes of a file that the model holds */

/* Collective. Runs one case: `shape` is the file type; etype, memory and arrangement follow from `turn`. */
void run_case(MPI_File file, const char* path, const struct shape* shape, const struct way* way, int turn,
              int number);
void run_refused(const char* path);
