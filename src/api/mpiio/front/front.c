/* api/mpiio/front: libsheaf_mpiio.so, the drop-in that is preloaded or linked. It holds entry points only and
 * names no MPI library as needed. At the first call it looks for the MPI library that the program has loaded
 * (loaded_mpi.c) and loads the engine for its binary interface, sheaf/libsheaf_mpiio_<interface>.so beside
 * this file, whose MPI names that library then resolves. Handles are never converted. Where there is no
 * engine, or it does not load, the MPI library's own functions are called, and one line says why and which
 * file is missing. Functions that this library is too old for, of which a program may see the entry points
 * here, are served by older ones where these can do it, and fail where not (stand_in.c).
 *
 * All arguments of these functions are integers or pointers of at most 64 bits, six at most, which every
 * 64-bit ABI of Linux passes in registers: an entry point hands them on without knowing more. Threads: any;
 * local. */
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

/* Functions that programs without files call too, and often, such as MPI_Wait.
 * NULL until the first call, and again when the engine has been loaded. Both names of a function lead to the
 * engine, before that to the MPI library. A profiling tool may follow this library in the order of symbols:
 * it defines the MPI_ name and calls the PMPI_ name, so the MPI_ name leads to the tool. */
enum names_of_a_function { profiled, unprofiled };
static _Atomic(function) shared[names][2];

/* Where the engine for `interface` is: sheaf/ beside this library, which may have been loaded under another
 * name. */
static void name_of_engine(char* path, size_t size, const char* interface) {
  Dl_info self;
  char* const own = dladdr(texts, &self) && self.dli_fname ? realpath(self.dli_fname, NULL) : NULL;
  const char* const slash = own ? strrchr(own, '/') : NULL;
  const int directory = slash ? (int)(slash - own + 1) : 0;
  snprintf(path, size, "%.*ssheaf/libsheaf_mpiio_%s.so", directory, own ? own : "", interface);
  free(own);
}

/* Only the first task of a job speaks, as far as its launcher says which one that is. */
static int is_first_task(void) {
  static const char* const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID",
                                      "PALS_RANKID"};
  for (size_t i = 0; i < sizeof ranks / sizeof *ranks; ++i) {
    const char* const rank = getenv(ranks[i]);
    if (rank) return strcmp(rank, "0") == 0;
  }
  return 1;
}

/* For `sheaf mpiio --report`: a line of JSON in the file that SHEAF_MPIIO_REPORT names. */
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

/* Says so once, and gives the file's error handler its turn. */
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

/* The call of a function that nobody has. */
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
  if (!own) return begun(number); /* this MPI library is too old for it */
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
/* MPI_ is another name of PMPI_, as in an MPI library: Fortran bindings call one or the other. */
#define OF_FILES(name)                                         \
  ENTRY(PMPI_##name, at_##name, begun(at_##name))              \
  __attribute__((visibility("default"), alias("PMPI_" #name))) \
  word MPI_##name(word, word, word, word, word, word);
#define OF_ALL(name)                                                    \
  ENTRY(PMPI_##name, at_##name, shared_function(at_##name, unprofiled)) \
  ENTRY(MPI_##name, at_##name, shared_function(at_##name, profiled))
SHEAF_MPIIO_NAMES(OF_FILES, OF_ALL)
