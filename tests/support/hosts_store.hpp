// hosts_store: a simulated file server and hosts with separate caches, for everything that works on a Store.
// It shows programs the effects of a cluster within one process and counts accesses that no program should
// make there (hosts_tally).
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
  // local, coherent: every byte is at the server at once. close_to_open: as Linux NFS (hosts_cache). A File
  // then sees data that other hosts closed or synced before it was opened; other data may or may not be
  // visible.
  Coherence coherence = Coherence::close_to_open;
  LockScope locks = LockScope::host;
  FileSystem kind = FileSystem::nfs;  // value in traits()
  int64_t page = 4096;                // bytes of a page of a host's cache
  std::vector<int64_t> pages = {};    // pages of host 0, 1, ...; empty: `page` for all
  int64_t unit = 64 << 10;            // bytes; value in traits() and granularity of the counts
  uint64_t seed = 0;                  // seed of the random events below
  // One in `pressure` transfers of a host randomly writes back or discards a page; 0: none
  int pressure = 0;
  // One in `timeout` uses of a file's attributes finds them expired, at random; 0: none
  int timeout = 0;
  // Bytes: writes of multiples of this size bypass the cache; 0: none, and no reads bypass it either
  int64_t direct = 1;
  bool behind = false;  // writes that bypass the cache wait on the host until they are published (GlusterFS)
  // Reads that bypass the cache end at the length of the last open or revalidation (MooseFS)
  bool knows_old_lengths = false;
  bool writes_whole_pages = true;  // up-to-date pages, unless the host locks the file
  // If false, a writing host misses changes of other hosts, even at the next open (NFS 4)
  bool answers_tell_change_before = true;
  // If false, a host uses the file it knows until it revalidates it (GlusterFS, after a host was lost)
  bool opens_revalidate = true;
  // With global locks: acquiring one flushes and discards, releasing it flushes
  bool locks_revalidate = true;
  // The first call with a name that the host knew before another host removed it fails with ESTALE
  bool names_get_stale = true;
  // The first open or status of a name that the host missed before fails with ENOENT again
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

  // State at the server, without data that caches hold back; as in MemoryStore.
  void add_directory(const std::string& path);
  std::vector<std::byte> contents(const std::string& path) const;
  std::vector<std::string> paths() const;

  // A host loses power or its network: data that its caches hold back is lost. Its tasks may still close
  // files.
  void lose(int host);

  class World;  // private to the implementation

 private:
  friend class HostsStore;
  const std::shared_ptr<World> world_;
};

// Thread-safe. Files may outlive the store, and the store may outlive the SimulatedHosts. If there are no
// locks, lock() throws io with ENOLCK. A file removed by another host yields ESTALE when the server is asked
// for it; on the host that removed it, it lives until it is closed.
class HostsStore final : public Store {
 public:
  HostsStore(const SimulatedHosts& hosts, int host, int64_t task);

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  FileStatus status(const std::string& path) override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  std::vector<std::string> names_in(const std::string& directory) override;
  FileSystemTraits traits(const std::string& path) override;

 private:
  const std::shared_ptr<SimulatedHosts::World> world_;
  const HostedTask who_;
};

}  // namespace sheaf::test
