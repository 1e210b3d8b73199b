// hosts_cache: the page cache that a simulated host has of one file, as the NFS client of Linux keeps it
// (fs/nfs/file.c, write.c).
//
// Pages are filled when they are read, or when a part is written of what the host knows of them: files are
// always open for reading, too. They stay until an open finds that the server's file has changed. A page is
// written back whole ("page extension"), with the stale bytes of other hosts that are in it, unless the host
// holds a lock of the file; then only what was written, as one range. Beyond the end that the host knows of,
// a page is zeros, written back from its begin. The size is the host's own belief, too.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>

#include "support/hosts_store.hpp"

namespace sheaf::test {

// What a host asks of the server, for one file; the caller guards it.
class HostsServer {
 public:
  virtual ~HostsServer() = default;
  virtual size_t read(std::span<std::byte> data, int64_t offset) = 0;
  virtual void write(std::span<const std::byte> data, int64_t offset) = 0;  // adds 1 to change()
  virtual void resize(int64_t size) = 0;                                    // the same
  virtual int64_t size() = 0;
  virtual int64_t change() = 0;  // how often it was changed
};

// Not thread-safe. The server's exceptions leave the page that they concern as it was.
class HostCache {
 public:
  HostCache(HostsServer& server, const HostsOptions& options, int host)
      : server_(server), options_(options), page_bytes_(options.page_of(host)) {
    forget();
  }

  void revalidate();  // what an open does
  void flush();
  void forget();  // all that is not dirty; the size and the change are asked again

  size_t read(std::span<std::byte> data, int64_t offset);
  void write(std::span<const std::byte> data, int64_t offset);
  void resize(int64_t size);
  int64_t size() const { return size_; }

  // Writes one page back, or forgets one that is clean: what memory pressure does.
  void press(std::mt19937_64& random);

  int locks_held = 0;  // by this host, on this file

 private:
  struct Page {
    std::unique_ptr<std::byte[]> bytes;
    bool is_uptodate = false;  // else there is nothing in it, nothing dirty either
    int64_t dirty_from = 0;    // nothing is dirty if both are the same
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
