// mpiio/api/info: conversion of hints between MPI_Info and the shared file.
#pragma once

#include <mpi.h>

#include "mpiio/file/hints.hpp"

namespace sheaf::mpiio {

// Copies the recognized hints of `info` to `hints`. MPI_INFO_NULL holds no hints. If `tells` is true, leaves
// a warning for each invalid value; callers set it on one task only. Local.
void take_hints(MPI_Info info, Hints& hints, bool tells);

// Returns a new info object with all hints in use. The caller frees it. Local.
MPI_Info info_of(const Hints& hints);

}  // namespace sheaf::mpiio
