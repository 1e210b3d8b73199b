/* Fortran entry points that complete requests. The Fortran bindings of MPI libraries convert statuses,
 * indices, flags and handles only if the C function that they call returns MPI_SUCCESS. Therefore the
 * engine stores the error of a request on a file until the C function has returned. The Fortran call then
 * returns the code of this error. Errors of other requests are returned as usual.
 *
 * Names follow mpif.h, the module mpi and the module mpi_f08, with one trailing underscore, as almost all
 * compilers use. */
#include "fortran.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "stand_in.h"

static _Atomic(void*) begin_call, end_call;

void use_engine_for_fortran(void* engine) {
  atomic_store(&end_call, dlsym(engine, "sheaf_mpiio_end_fortran"));
  atomic_store(&begin_call, dlsym(engine, "sheaf_mpiio_begin_fortran"));
}

struct binding {
  const char* name;
  int arguments; /* including the last one, the error code (may be NULL) */
  _Atomic(void*) next;
};

static word call(struct binding* binding, const word* words) {
  void* address = atomic_load_explicit(&binding->next, memory_order_acquire);
  if (!address) atomic_store(&binding->next, address = dlsym(RTLD_NEXT, binding->name));
  function next;
  *(void**)&next = address;
  void* const hook = atomic_load_explicit(&begin_call, memory_order_acquire);
  if (!hook) return next(words[0], words[1], words[2], words[3], words[4], words[5]);
  void (*begin)(void);
  int (*end)(void);
  *(void**)&begin = hook;
  *(void**)&end = atomic_load_explicit(&end_call, memory_order_relaxed);
  begin();
  const word result = next(words[0], words[1], words[2], words[3], words[4], words[5]);
  const int code = end();
  int* const error = (int*)words[binding->arguments - 1];
  if (code && error) *error = code;
  return result;
}

#define BINDING(name, arguments)                                                                     \
  __attribute__((visibility("default"))) word name(word a, word b, word c, word d, word e, word f) { \
    static struct binding binding = {#name, arguments, NULL};                                        \
    return call(&binding, (const word[]){a, b, c, d, e, f});                                         \
  }
#define BINDINGS(name, arguments)        \
  BINDING(mpi_##name##_, arguments)      \
  BINDING(pmpi_##name##_, arguments)     \
  BINDING(mpi_##name##_f08_, arguments)  \
  BINDING(pmpi_##name##_f08_, arguments) \
  BINDING(pmpir_##name##_f08_, arguments) /* MPICH */

BINDINGS(wait, 3)
BINDINGS(waitall, 4)
BINDINGS(waitany, 5)
BINDINGS(waitsome, 6)
BINDINGS(test, 4)
BINDINGS(testall, 5)
BINDINGS(testany, 6)
BINDINGS(testsome, 6)
BINDINGS(request_get_status, 4)
BINDINGS(request_get_status_all, 5)
BINDINGS(request_get_status_any, 6)
BINDINGS(request_get_status_some, 6)
