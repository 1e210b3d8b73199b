/* failing_allocations: a library for LD_PRELOAD that lets allocations of Sheaf fail. It affects only
 * allocations of C++ code in threads that have recorded that they are in a call (failing_calls.h).
 * Allocations of an MPI and of the C library succeed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "failing_calls.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

static _Thread_local int inside __attribute__((tls_model("initial-exec")));
static atomic_long allocations, fail_at = -1;
static atomic_int fail_on;

/* The address ranges of the code of the program, of Sheaf and of the C++ runtime. Only allocations by this
 * code fail. */
enum { max_ranges = 16 };
static struct {
  uintptr_t begin, end;
} ranges[max_ranges];
static int number_of_ranges;

static int add_ranges(struct dl_phdr_info* object, size_t size, void* unused) {
  (void)size, (void)unused;
  const char* const name = object->dlpi_name;
  if (name[0] != 0 && !strstr(name, "libstdc++") && !strstr(name, "libsheaf")) return 0;
  for (int i = 0; i < object->dlpi_phnum && number_of_ranges < max_ranges; ++i) {
    const ElfW(Phdr)* const part = &object->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    ranges[number_of_ranges].begin = object->dlpi_addr + part->p_vaddr;
    ranges[number_of_ranges++].end = object->dlpi_addr + part->p_vaddr + part->p_memsz;
  }
  return 0;
}

void failing_allocations_begin(long at, int from_then_on) {
  atomic_store(&fail_at, -1);
  number_of_ranges = 0;
  dl_iterate_phdr(add_ranges, NULL);
  atomic_store(&allocations, 0);
  atomic_store(&fail_on, from_then_on);
  atomic_store(&fail_at, at);
}
long failing_allocations_count(void) { return atomic_load(&allocations); }
void failing_allocations_inside(int now) { inside = now; }

static int fails(const void* caller) {
  if (!inside) return 0;
  int meant = 0;
  for (int i = 0; i < number_of_ranges; ++i)
    meant |= (uintptr_t)caller >= ranges[i].begin && (uintptr_t)caller < ranges[i].end;
  if (!meant) return 0;
  const long number = atomic_fetch_add(&allocations, 1), at = atomic_load(&fail_at);
  if (at < 0 || number < at || (number > at && !atomic_load(&fail_on))) return 0;
  errno = ENOMEM;
  return 1;
}
#define FAILS() fails(__builtin_return_address(0))

void* malloc(size_t size) { return FAILS() ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return FAILS() ? NULL : __libc_calloc(count, size); }
void* realloc(void* memory, size_t size) { return FAILS() ? NULL : __libc_realloc(memory, size); }
void* memalign(size_t alignment, size_t size) { return FAILS() ? NULL : __libc_memalign(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) {
  return FAILS() ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (FAILS()) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
