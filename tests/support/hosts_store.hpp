// hosts_store: a Store that simulates a file server and hosts with separate caches. It reproduces the cache
// effects of a cluster within one process. It counts accesses that would be errors on a cluster
// (hosts_tally).
//
// A SimulatedHosts is the server with all its hosts; a HostsStore is the view of one task on one host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/store.hpp"
#include "support/hosts_tally.hpp"

namespace sheaf::test {

struct HostsOptions {
  // With local and coherent, every write reaches the server immediately. With close_to_open, hosts cache like
  // Linux NFS (hosts_cache): a File sees data that other hosts closed or synced before its open. Other data
  // of those hosts may or may not be visible.
  Coherence coherence = Coherence::close_to_open;
  LockScope locks = LockScope::host;
  FileSystem kind = FileSystem::nfs;  // value in traits()
  int64_t page = 4096;                // bytes of a page of a host's cache
  std::vector<int64_t> pages = {};    // pages of host 0, 1, ...; empty: `page` for all
  int64_t unit = 64 << 10;            // bytes; value in traits() and granularity of the counts
  uint64_t seed = 0;                  // seed of the random events below
  // After one in `pressure` transfers, at random, the host writes back or discards a page; 0: never
  int pressure = 0;
  // Cached attributes expire at one in `timeout` uses, at random; 0: never
  int timeout = 0;
  // Block size in bytes of writes that can bypass the cache; 0: neither writes nor reads can bypass it
  int64_t direct = 1;
  bool behind = false;  // writes that bypass the cache wait on the host until they are published (GlusterFS)
  // Reads that bypass the cache end at the length of the last open or revalidation (MooseFS)
  bool knows_old_lengths = false;
  // If true, a host that holds no lock on the file writes back whole pages; otherwise only written bytes
  bool writes_whole_pages = true;
  // If false, a writing host misses changes of other hosts, even at the next open (NFS 4)
  bool answers_tell_change_before = true;
  // If false, an open uses the host's cache without a check for changes (GlusterFS, after a host was lost)
  bool opens_revalidate = true;
  // If true, a host discards its cache when it acquires a global lock, and flushes it at the release
  bool locks_revalidate = true;
  bool one_client = false;  // value in placement_of()
  int data_host = -1;       // number of the only host that stores the files, for placement_of(); -1: unknown
  // If true, the first call of a host with a name that another host has removed fails with ESTALE
  bool names_get_stale = true;
  // If true, a host that did not find a name gets one more ENOENT for it, even if the file exists by then
  bool absence_is_kept = false;

  int64_t page_of(int host) const {
    return pages.empty() ? page : pages[static_cast<size_t>(host) % pages.size()];
  }
};

class SimulatedHosts {
 public:
  explicit SimulatedHosts(HostsOptions options = {});
  ~SimulatedHosts();
  SimulatedHosts(const SimulatedHosts&) = delete;
  SimulatedHosts& operator=(const SimulatedHosts&) = delete;

  HostsCounts counts() const;

  // Access the files on the server as in MemoryStore; data that exist only in host caches are not included.
  void add_directory(const std::string& path);
  std::vector<std::byte> contents(const std::string& path) const;
  std::vector<std::string> paths() const;

  // Simulates that a host loses power or its network: discards its caches with all unwritten data. Tasks of
  // the host may still close files.
  void lose(int host);

  class World;  // private to the implementation

 private:
  friend class HostsStore;
  const std::shared_ptr<World> world_;
};

// Thread-safe. Files may outlive the store, and the store may outlive the SimulatedHosts. lock() throws io
// with ENOLCK if the option `locks` is none. After a host removes a file, its own tasks can use the file
// until they close it. With close_to_open, requests of other hosts for that file fail with ESTALE.
class HostsStore final : public Store {
 public:
  HostsStore(const SimulatedHosts& hosts, int host, int64_t task);

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  FileStatus status(const std::string& path) override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  std::vector<std::string> names_in(const std::string& directory) override;
  FileSystemTraits traits(const std::string& path) override;
  FilePlacement placement_of(File& file, FileSystem kind) override;
  bool is_host(const std::string& name) override;  // hosts are named by their numbers

 private:
  const std::shared_ptr<SimulatedHosts::World> world_;
  const HostedTask who_;
};

}  // namespace sheaf::test
