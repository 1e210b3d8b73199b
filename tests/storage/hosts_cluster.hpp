// A small cluster for tests of simulated hosts.
#pragma once

#include <string>
#include <string_view>

#include "support/hosts_store.hpp"
#include "testing.hpp"

namespace sheaf::testing {

// Two hosts, with two tasks on the first one.
struct TwoHostCluster {
  explicit TwoHostCluster(test::HostsOptions options = {}) : hosts(options) {}

  // Creates a file that no host has in its cache.
  void put(const std::string& path, std::string_view contents) {
    const auto file = test::HostsStore(hosts, 99, 99).open(path, Access::create);
    file->write_at(bytes(contents), 0);
    file->close();
  }
  std::string at_server(const std::string& path) const { return text(hosts.contents(path)); }

  test::SimulatedHosts hosts;
  test::HostsStore a{hosts, 0, 0};
  test::HostsStore neighbour{hosts, 0, 1};
  test::HostsStore b{hosts, 1, 2};
};

inline std::string all_of(File& file) { return read_text(file, 0, 1 << 20); }

}  // namespace sheaf::testing
