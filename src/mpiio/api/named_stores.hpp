// mpiio/api/named_stores: the stores that hold the files of MPI-IO programs.
//
// By default a store holds files of the operating system. A module that is layered above this one may
// register stores that also accept names of its own, as sfio/api does for names with `sfio:`.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "storage/store.hpp"

namespace sheaf::mpiio {

struct NamedStores {
  // Replaces posix_store().
  Store& (*current)() = posix_store;
  // Replaces posix_store_here().
  std::shared_ptr<Store> (*here)() = posix_store_here;
  // Prepares the use of `path`. Collective over `comm`; local if `comm` is MPI_COMM_NULL. Throws MpiError on
  // all tasks or on none.
  void (*prepare)(const std::string& path, MPI_Comm comm) = [](const std::string&, MPI_Comm) {};
};

// Replaces the registered stores. Must be called while the library is loaded, before any file is opened. Not
// thread-safe.
void register_stores(const NamedStores& stores);

const NamedStores& named_stores();

}  // namespace sheaf::mpiio
