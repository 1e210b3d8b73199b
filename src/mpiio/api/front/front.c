/* mpiio/api/front: libsheaf_mpiio.so, the drop-in that is preloaded or linked. The library contains only
 * entry points and is linked to no MPI library.
 *
 * The first call detects the MPI library that the program has loaded (loaded_mpi.c). It then loads the
 * engine for that binary interface, sheaf/libsheaf_mpiio_<interface>.so in the directory of this file.
 * The loaded MPI library resolves the MPI symbols of the engine. Handles are never converted. If the
 * engine does not exist or fails to load, calls go to the MPI library, and one message names the reason
 * and the file of the engine. A program may call entry points that its MPI library lacks. Such a call is
 * forwarded to an older function with the same effect, or fails if no such function exists (stand_in.c).
 *
 * An entry point has at most six arguments. Each is an integer or a pointer of at most 64 bits. Every 64-bit
 * ABI of Linux passes such arguments in registers, so an entry point forwards them without knowing their
 * types. Thread-safe; local. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fortran.h"
#include "json.h"
#include "loaded_mpi.h"
#include "names.h"
#include "stand_in.h"

#define NUMBER(name) at_##name,
enum { SHEAF_MPIIO_NAMES(NUMBER, NUMBER) names };

#define TEXT(name) "PMPI_" #name,
static const char* const texts[names] = {SHEAF_MPIIO_NAMES(TEXT, TEXT)};

static function functions[names];
static atomic_int ready;
static struct loaded_mpi mpi;

/* Cached targets of functions that programs also call without files, and frequently, such as MPI_Wait. A
 * target is NULL until the first call of its function. Loading the engine resets all targets to NULL.
 * While an engine is loaded, both names of a function lead to the engine; otherwise both lead to the MPI
 * library. An exception is a profiling tool that follows this library in symbol order: the MPI_ name then
 * leads to the tool, which calls the PMPI_ name. */
enum names_of_a_function { profiled, unprofiled };
static _Atomic(function) shared[names][2];

/* Stores the path of the engine for `interface`, which is in the folder sheaf/ beside this library. Links
 * in the path of this library are resolved first, because the program may have loaded it through a link
 * in another directory. */
static void name_of_engine(char* path, size_t size, const char* interface) {
  Dl_info self;
  char* const own = dladdr(texts, &self) && self.dli_fname ? realpath(self.dli_fname, NULL) : NULL;
  const char* const slash = own ? strrchr(own, '/') : NULL;
  const int directory = slash ? (int)(slash - own + 1) : 0;
  snprintf(path, size, "%.*ssheaf/libsheaf_mpiio_%s.so", directory, own ? own : "", interface);
  free(own);
}

/* Returns 1 if this is the first task of the job according to the launcher, otherwise 0. Only the first
 * task prints messages. */
static int is_first_task(void) {
  static const char* const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID",
                                      "PALS_RANKID"};
  for (size_t i = 0; i < sizeof ranks / sizeof *ranks; ++i) {
    const char* const rank = getenv(ranks[i]);
    if (rank) return strcmp(rank, "0") == 0;
  }
  return 1;
}

/* Appends a line of JSON to the file named by SHEAF_MPIIO_REPORT, for `sheaf mpiio --report`. */
static void note_choice(const char* engine) {
  const char* const path = getenv("SHEAF_MPIIO_REPORT");
  FILE* const file = path && *path && is_first_task() ? fopen(path, "ae") : NULL;
  if (!file) return;
  put_member(file, "{", "mpi", mpi.version);
  put_member(file, ",", "library", mpi.path);
  put_member(file, ",", "engine", engine);
  fputs("}\n", file);
  fclose(file);
}

static void* load_engine(void) {
  char path[4096];
  name_of_engine(path, sizeof path, mpi.interface);
  void* const engine = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  void (*begin)(void*) = NULL;
  if (engine) *(void**)&begin = dlsym(engine, "sheaf_mpiio_begin");
  if (begin) {
    begin(mpi.handle);
    use_engine_for_fortran(engine);
    note_choice(path);
    return engine;
  }
  const char* const reason = dlerror();
  note_choice("");
  if (is_first_task())
    fprintf(
        stderr,
        "sheaf mpiio: no %s for this program's MPI library (%s, %s): %s; its own MPI-IO is used instead\n",
        path, mpi.version, mpi.path, reason ? reason : "it is no engine");
  return NULL;
}

static void begin(void) {
  if (!mpi.handle && !find_loaded_mpi(&mpi)) {
    fputs(
        "sheaf mpiio: a function of MPI-IO was called, but no MPI library is loaded in this process; link or "
        "load one\n",
        stderr);
    abort();
  }
  void* const engine = load_engine();
  for (int i = 0; i < names; ++i) *(void**)&functions[i] = dlsym(engine ? engine : mpi.handle, texts[i]);
  atomic_store(&ready, 1);
  for (int i = 0; i < names; ++i)
    for (int name = profiled; name <= unprofiled; ++name) atomic_store(&shared[i][name], NULL);
}

/* Rejects a call for which no function exists and returns its error code. For functions of files, calls
 * the error handler of `file` first. The first rejected call of the first task prints a message. */
static word refuse(int number, word file) {
  static atomic_flag said = ATOMIC_FLAG_INIT;
  const word code = unsupported_operation(mpi.interface);
  if (is_first_task() && !atomic_flag_test_and_set(&said))
    fprintf(stderr,
            "sheaf mpiio: %s cannot do what is asked for: this program's MPI library (%s, %s) has no such "
            "function\n",
            texts[number] + 1, mpi.version, mpi.path);
  const function handler = functions[at_File_call_errhandler];
  if (handler && strncmp(texts[number], "PMPI_File_", 10) == 0) handler(file, code, 0, 0, 0, 0);
  return code;
}

/* Calls the replacement of a function that both the engine and the MPI library lack. Rejects the call if
 * no replacement exists or a count does not fit an int. */
static word call_other(int number, const word* words) {
  const struct stand_in other = stand_in_of(texts[number]);
  const int fits = other.count < 0 || (words[other.count] >= INT_MIN && words[other.count] <= INT_MAX);
  for (int i = 0; i < names && fits; ++i)
    if (functions[i] && strcmp(texts[i], other.name) == 0)
      return functions[i](words[0], words[1], words[2], words[3], words[4], words[5]);
  return refuse(number, words[0]);
}

static function begun(int number) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (!atomic_load_explicit(&ready, memory_order_acquire)) pthread_once(&once, begin);
  return functions[number];
}

static function function_in(void* handle, const char* name) {
  function found = NULL;
  *(void**)&found = dlsym(handle, name);
  return found;
}

static int are_of_one_library(function one, function other) {
  Dl_info of_one, of_other;
  return dladdr(*(void**)&one, &of_one) && dladdr(*(void**)&other, &of_other) &&
         of_one.dli_fbase == of_other.dli_fbase;
}

static function find_shared(int number, enum names_of_a_function name) {
  struct loaded_mpi loaded;
  const int is_ready = atomic_load_explicit(&ready, memory_order_acquire);
  if (!is_ready && !find_loaded_mpi(&loaded)) return begun(number);
  const function own = function_in(is_ready ? mpi.handle : loaded.handle, texts[number]);
  if (!own) return begun(number); /* this MPI library predates the function */
  const function next = name == profiled ? function_in(RTLD_NEXT, texts[number] + 1) : NULL;
  const function found = next && !are_of_one_library(next, own) ? next : is_ready ? functions[number] : own;
  if (!is_ready && !loaded.initialized) return found;
  atomic_store(&shared[number][name], found);
  if (!is_ready && atomic_load(&ready)) atomic_store(&shared[number][name], NULL);
  return found;
}

static function shared_function(int number, enum names_of_a_function name) {
  const function known = atomic_load_explicit(&shared[number][name], memory_order_acquire);
  return known ? known : find_shared(number, name);
}

#define ENTRY(name, number, choice)                                                                  \
  __attribute__((visibility("default"))) word name(word a, word b, word c, word d, word e, word f) { \
    const function own = choice;                                                                     \
    return own ? own(a, b, c, d, e, f) : call_other(number, (const word[]){a, b, c, d, e, f});       \
  }
/* MPI_ is an alias of PMPI_, as in an MPI library, because Fortran bindings call either name. */
#define OF_FILES(name)                                         \
  ENTRY(PMPI_##name, at_##name, begun(at_##name))              \
  __attribute__((visibility("default"), alias("PMPI_" #name))) \
  word MPI_##name(word, word, word, word, word, word);
#define OF_ALL(name)                                                    \
  ENTRY(PMPI_##name, at_##name, shared_function(at_##name, unprofiled)) \
  ENTRY(MPI_##name, at_##name, shared_function(at_##name, profiled))
SHEAF_MPIIO_NAMES(OF_FILES, OF_ALL)
