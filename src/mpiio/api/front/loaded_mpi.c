#include "loaded_mpi.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Paths of loaded libraries that have the name of an MPI library. */
struct candidates {
  int count;
  char* paths[32];
};

static const char* base_of(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int collect(struct dl_phdr_info* info, size_t size, void* into) {
  (void)size;
  struct candidates* const all = into;
  const char* const path = info->dlpi_name;
  char* const copy = path && strncmp(base_of(path), "libmpi", 6) == 0 ? strdup(path) : NULL;
  if (copy) all->paths[all->count++] = copy;
  return all->count == (int)(sizeof all->paths / sizeof *all->paths);
}

/* Returns the path of the file that defines the MPI functions, or NULL if no loaded file does. Other
 * candidates, such as bindings of other languages, only depend on this file. */
static const char* definer(void* handle) {
  Dl_info where;
  void* const symbol = dlsym(handle, "PMPI_Get_library_version");
  return symbol && dladdr(symbol, &where) ? where.dli_fname : NULL;
}

static int is_initialized(void* handle) {
  int (*initialized)(int*) = NULL;
  int flag = 0;
  *(void**)&initialized = dlsym(handle, "PMPI_Initialized");
  return initialized && initialized(&flag) == 0 && flag;
}

static void ask_version(struct loaded_mpi* found) {
  char* const text = calloc(1, 1 << 16); /* sufficient for all known MPI libraries */
  int (*version)(char*, int*) = NULL;
  int length = 0;
  *(void**)&version = dlsym(found->handle, "PMPI_Get_library_version");
  if (version && text) version(text, &length);
  size_t n = 0;
  for (const char* c = text; c && *c && !strchr("\n,", *c) && n + 1 < sizeof found->version; ++c)
    found->version[n++] = strchr("\"\\\t\r", *c) ? ' ' : *c;
  found->version[n] = 0;
  free(text);
}

static int says(const struct loaded_mpi* found, const char* begin) {
  return strncmp(found->version, begin, strlen(begin)) == 0;
}

/* Detects the binary interface from the file name, which identifies it for every vendor. A program that
 * loads the library itself (Python) may use a name without a version number. The version string then
 * decides. */
static const char* interface_of(const struct loaded_mpi* found) {
  const char* const base = base_of(found->path);
  if (strncmp(base, "libmpi_abi.so", 13) == 0) return "abi";
  if (says(found, "Open MPI")) return "openmpi";
  if (strncmp(base, "libmpich.so", 11) == 0 || strcmp(base, "libmpi.so.12") == 0 ||
      strncmp(base, "libmpi.so.12.", 13) == 0 || says(found, "MPICH") || says(found, "MVAPICH") ||
      says(found, "Intel(R) MPI"))
    return "mpich";
  return "unknown";
}

int find_loaded_mpi(struct loaded_mpi* found) {
  struct candidates all = {0};
  memset(found, 0, sizeof *found);
  dl_iterate_phdr(collect, &all);
  for (int i = 0; i < all.count; ++i) {
    void* const handle = dlopen(all.paths[i], RTLD_LAZY | RTLD_NOLOAD);
    const char* const path = handle ? definer(handle) : NULL;
    free(all.paths[i]);
    if (!path || (found->handle && !is_initialized(handle))) continue;
    snprintf(found->path, sizeof found->path, "%s", path);
    found->handle = handle;
  }
  if (!found->handle) return 0;
  /* The program may have loaded the library with local symbols (Python). Makes the symbols global, so
   * that the engine finds them. */
  void* const global = dlopen(found->path, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
  if (global) found->handle = global;
  found->initialized = is_initialized(found->handle);
  ask_version(found);
  found->interface = interface_of(found);
  return 1;
}
