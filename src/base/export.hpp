// base/export: marks the C++ names that libsheaf exports to its companion libraries (libsheaf_mpi and
// others). All other C++ names are hidden; the public interface is C.
#pragma once

#define SHEAF_EXPORT __attribute__((visibility("default")))
