// mpiio/api/named_stores: the stores that hold the files of MPI-IO programs.
//
// By default these are the files of the operating system. A module above this one registers stores that also
// accept names of its own, as sfio/api does for `sfio:`.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "storage/store.hpp"

namespace sheaf::mpiio {

struct NamedStores {
  // As posix_store().
  Store& (*current)() = posix_store;
  // As posix_store_here().
  std::shared_ptr<Store> (*here)() = posix_store_here;
  // Prepares the use of `path`. Collective over `comm`; local if `comm` is MPI_COMM_NULL. Throws MpiError on
  // all tasks or on none.
  void (*prepare)(const std::string& path, MPI_Comm comm) = [](const std::string&, MPI_Comm) {};
};

// Replaces the stores. Called while the library is loaded, before any file is opened; not thread-safe.
void register_stores(const NamedStores& stores);

const NamedStores& named_stores();

}  // namespace sheaf::mpiio
