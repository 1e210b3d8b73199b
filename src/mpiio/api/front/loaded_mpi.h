/* mpiio/api/front/loaded_mpi: detects the MPI library that the process has loaded. */
#ifndef SHEAF_LOADED_MPI_H
#define SHEAF_LOADED_MPI_H

struct loaded_mpi {
  void* handle;          /* dlopen handle with global symbols that come first */
  const char* interface; /* "openmpi", "mpich" (and compatible), "abi" (MPI 5) or "unknown" */
  int initialized;       /* 1 if MPI_Init was called */
  char path[4096];       /* path of the library file */
  char version[256];     /* version string of the library, one line without quotes */
};

/* Finds the loaded MPI library and fills `found`. If several are loaded, prefers an initialized one, else
 * the first. Returns 1, or 0 if no MPI library is loaded. */
int find_loaded_mpi(struct loaded_mpi* found);

#endif
