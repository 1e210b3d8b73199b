#include "mpiio/api/named_stores.hpp"

namespace sheaf::mpiio {

namespace {

NamedStores& registered() {
  static NamedStores stores;
  return stores;
}

}  // namespace

void register_stores(const NamedStores& stores) { registered() = stores; }

const NamedStores& named_stores() { return registered(); }

}  // namespace sheaf::mpiio
