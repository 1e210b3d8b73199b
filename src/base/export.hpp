// base/export: marks the few C++ names that libsheaf offers to its own companions (libsheaf_mpi and others).
// All other C++ names are hidden; the public interface is C.
#pragma once

#define SHEAF_EXPORT __attribute__((visibility("default")))
