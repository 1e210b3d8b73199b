// hosts_world: the server's files and names, and what each simulated host has cached of them. Used by
// hosts_store.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/hosts_cache.hpp"
#include "support/stores/memory_inode.hpp"

namespace sheaf::test {

// A file of the server. The world's mutex guards all members except `bytes.locks` and `host_locks`.
struct ServedFile {
  ServedFile(const HostsOptions& options, HostsCounts& counts, int64_t& clock)
      : bytes(options.page, options.page), tally(options.unit, counts, clock) {}

  class Seen;  // one host's view of the file: its requests and its cache

  MemoryStore::Inode bytes;
  int64_t change = 0;
  bool removed = false;
  int remover = 0;  // host
  HostsTally tally;
  std::map<int, std::unique_ptr<Seen>> seen;
  std::map<int, RangeLocks> host_locks;
};

class ServedFile::Seen final : public HostsServer {
 public:
  Seen(ServedFile& file, int host, const HostsOptions& options, HostsCounts& counts)
      : file_(file), host_(host), options_(options), counts_(counts), cache(*this, options, host) {}

  size_t read(std::span<std::byte> data, int64_t offset) override;
  void write(std::span<const std::byte> data, int64_t offset) override;
  void resize(int64_t size) override;
  int64_t size() override { return file_.bytes.status().size; }
  int64_t change() override { return file_.change; }
  void check() { require_handle(); }  // throws ESTALE if the handle is stale, as any request does

  // Queues a write that bypasses the cache. drain() sends the queued writes to the server in this order.
  void write_behind(std::span<const std::byte> data, int64_t offset) {
    waiting_.push_back({offset, {data.begin(), data.end()}});
  }
  void drain() {
    if (waiting_.empty()) return;
    for (const auto& [offset, data] : std::exchange(waiting_, {})) write(data, offset);
    cache.forget();
  }

 private:
  void require_handle();

  ServedFile& file_;
  const int host_;
  const HostsOptions& options_;
  HostsCounts& counts_;
  std::vector<std::pair<int64_t, std::vector<std::byte>>> waiting_;

 public:
  HostCache cache;  // uses all members above
};

class SimulatedHosts::World {
 public:
  explicit World(const HostsOptions& its_options) : options(its_options), random(its_options.seed) {}

  using Served = std::shared_ptr<ServedFile>;

  // Returns the file that `host` finds under `path`, or null if it finds none. The caller holds the mutex.
  // Throws ESTALE if the name is stale.
  Served find(int host, const std::string& path, bool anew = false);
  Served make(int host, const std::string& path);
  void remove(int host, const std::string& path);
  void rename(int host, const std::string& from, const std::string& to);
  Served at_server(const std::string& path, const char* doing) const;
  ServedFile::Seen& seen_by(int host, ServedFile& file);
  bool has_caches() const { return options.coherence == Coherence::close_to_open; }
  bool happens(int one_in) { return one_in > 0 && random() % static_cast<uint64_t>(one_in) == 0; }

  const HostsOptions options;
  mutable std::mutex mutex;  // guards all members below
  std::mt19937_64 random;
  HostsCounts counts;
  int64_t clock = 0;
  std::map<std::string, Served> files;
  std::set<std::string> directories;

 private:
  struct HostNames {
    std::map<std::string, Served> known;
    std::set<std::string> missed;
  };
  void drop(int host, const Served& file);

  std::map<int, HostNames> names_;
};

}  // namespace sheaf::test
