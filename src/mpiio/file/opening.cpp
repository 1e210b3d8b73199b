#include "mpiio/file/opening.hpp"

#include <type_traits>

#include "comm/shm_barrier.hpp"

namespace sheaf::mpiio {

static_assert(std::is_trivially_copyable_v<OpeningMessage> &&
              sizeof(OpeningMessage) <= ShmBarrier::max_bytes);

void keep(const FilePlacement& placement, OpeningMessage& to) {
  to.one_client = placement.one_client;
  if (placement.host.size() < sizeof to.data_host)
    to.data_host[placement.host.copy(to.data_host, sizeof to.data_host - 1)] = 0;
}

void keep(const Hints& hints, OpeningMessage& to) {
  to.hints = hints;
  to.config_list[hints.config_list.copy(to.config_list, sizeof to.config_list - 1)] = 0;
}

Hints hints_in(const OpeningMessage& opening) { return {opening.hints, opening.config_list, {}}; }

}  // namespace sheaf::mpiio
