// hosts_cache: the page cache of one file on a simulated host, modelled after the NFS client of Linux
// (fs/nfs/file.c, write.c).
//
// The cache fills a page when the page is read, or when a write covers only a part of its known bytes.
// (Filling is always possible, because files are open for reading, too.) Pages stay until an open finds that
// the file has changed on the server. A page is written back whole ("page extension"), including stale bytes
// of other hosts. If the host holds a lock on the file, only the written bytes are sent, as one range. Beyond
// the end that the host knows, a page holds zeros and is written back from its beginning. The cached size is
// local to the host, too.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>

#include "support/hosts_store.hpp"

namespace sheaf::test {

// Requests of a host to the server for one file. The caller serializes them.
class HostsServer {
 public:
  virtual ~HostsServer() = default;
  virtual size_t read(std::span<std::byte> data, int64_t offset) = 0;
  virtual void write(std::span<const std::byte> data, int64_t offset) = 0;  // adds 1 to change()
  virtual void resize(int64_t size) = 0;                                    // adds 1 to change()
  virtual int64_t size() = 0;
  virtual int64_t change() = 0;  // number of changes so far
};

// Not thread-safe. If a request to the server throws, the affected page stays unchanged.
class HostCache {
 public:
  HostCache(HostsServer& server, const HostsOptions& options, int host)
      : server_(server), options_(options), page_bytes_(options.page_of(host)) {
    forget();
  }

  void revalidate();  // discards the pages if the file has changed, as an open does
  void flush();
  void forget();  // discards all clean pages and asks again for size and change counter

  size_t read(std::span<std::byte> data, int64_t offset);
  void write(std::span<const std::byte> data, int64_t offset);
  void resize(int64_t size);
  int64_t size() const { return size_; }

  // Writes one page back, or discards a clean one, as memory pressure would.
  void press(std::mt19937_64& random);

  int locks_held = 0;  // by this host, on this file

 private:
  struct Page {
    std::unique_ptr<std::byte[]> bytes;
    bool is_uptodate = false;  // otherwise the page is empty and has no dirty bytes
    int64_t dirty_from = 0;    // equal bounds: no dirty bytes
    int64_t dirty_to = 0;
    bool is_dirty() const { return dirty_to > dirty_from; }
  };
  Page& page_of(int64_t number);
  void fill(int64_t number, Page& page);
  void write_back(int64_t number, Page& page);
  void write_page(int64_t number, int64_t from, std::span<const std::byte> data);
  template <class Change>
  void change_server(Change change);

  HostsServer& server_;
  const HostsOptions& options_;
  const int64_t page_bytes_;
  std::map<int64_t, Page> pages_;
  int64_t size_ = 0;
  int64_t seen_change_ = 0;
};

}  // namespace sheaf::test
