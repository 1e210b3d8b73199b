/* api/mpiio/front/loaded_mpi: which MPI library a process has loaded. */
#ifndef SHEAF_LOADED_MPI_H
#define SHEAF_LOADED_MPI_H

struct loaded_mpi {
  void* handle; /* of dlopen: its names come first, and all other libraries of the process see them */
  const char* interface; /* "openmpi", "mpich" (and what shares its binary interface), "abi" (that of MPI 5),
                            or "unknown" */
  int initialized;       /* MPI_Init has been called */
  char path[4096];       /* of its file */
  char version[256];     /* what it says of itself, one line without quotes */
};

/* 1 and the library; 0 if there is none. Of several the one that has been initialized, else the first. */
int find_loaded_mpi(struct loaded_mpi* found);

#endif
