// hosts_store: one file server, and hosts with caches of their own that tasks read and write it through: what
// programs meet on a cluster, in one process, for all that works on a Store. It counts what no program should
// do there (hosts_tally).
//
// A SimulatedHosts is the server with all its hosts; a HostsStore is what one task on one host sees of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/store.hpp"
#include "support/hosts_tally.hpp"

namespace sheaf::test {

struct HostsOptions {
  // local, coherent: every byte is at the server at once. close_to_open: as Linux does it over NFS
  // (hosts_cache); a File sees what was closed or synced on other hosts before it was opened, and of the rest
  // anything that a cache may hold.
  Coherence coherence = Coherence::close_to_open;
  LockScope locks = LockScope::host;
  FileSystem kind = FileSystem::nfs;  // what traits() says
  int64_t page = 4096;                // bytes of a page of a host's cache
  std::vector<int64_t> pages = {};    // the same of host 0, 1, ... in turn; empty: `page` for all
  int64_t unit = 64 << 10;            // bytes; what traits() says, and what is counted
  uint64_t seed = 0;                  // of the moments below
  // One in so many transfers of a host writes a page back, or forgets one, at random; 0: none
  int pressure = 0;
  // One in so many looks at the attributes of a file, at random, as after their time; 0: none
  int timeout = 0;
  // Bytes: multiples of so many are written past the cache; 0: none, and nothing is read so
  int64_t direct = 1;
  bool behind = false;  // what is written past the cache waits on the host until it is published (GlusterFS)
  // What is read past the cache ends where the file ended when it was opened or renewed last (MooseFS)
  bool knows_old_lengths = false;
  bool writes_whole_pages = true;  // pages that are up to date, unless the host holds a lock of the file
  // Else a host that writes does not see that others have (NFS 4): not even the next open does
  bool answers_tell_change_before = true;
  // Else a host takes a file that it knows for what it was, until it renews it (GlusterFS, after a host was
  // lost)
  bool opens_revalidate = true;
  // Where locks are global: taking one flushes and forgets, giving it back flushes
  bool locks_revalidate = true;
  // The first call with a name that the host knew before another host removed it: ESTALE
  bool names_get_stale = true;
  // The first open or status of a name that the host has missed before: ENOENT again
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

  // At the server: what caches hold back is not there. As those of MemoryStore.
  void add_directory(const std::string& path);
  std::vector<std::byte> contents(const std::string& path) const;
  std::vector<std::string> paths() const;

  // A host loses power, or its network: what its caches hold back is gone. Its tasks may close their files.
  void lose(int host);

  class World;  // private to the implementation

 private:
  friend class HostsStore;
  const std::shared_ptr<World> world_;
};

// Thread-safe. Files may outlive it, and it the SimulatedHosts. Without locks, lock() throws io with ENOLCK.
// A file that was removed on another host gives ESTALE when the server is asked for it; on its own host it
// lives until it is closed.
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
