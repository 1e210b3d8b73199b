// streams/container/replay: computes the contents of a set (streams/container/named_streams) from the records
// of all its containers and from its multifile (rules in docs/format.md, section 19).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "multifile/options/checking.hpp"
#include "streams/container/container_contents.hpp"
#include "streams/container/named_streams.hpp"

namespace sheaf::streams {

// Parameters for the verification of blocks of containers.
struct ReadsOfBlocks {
  multifile::Checking checking = multifile::Checking::on;
  bool served = false;  // bytes of other hosts arrive late from a server
};

// Options of read_set(), for readers outside of the hosts that write to the set.
struct SetReading {
  bool lenient = false;  // an unreadable container is reported as damage of its source instead of an error
  bool checked = false;  // also scan all bytes after the records
  multifile::Checking checking = multifile::Checking::on;
};

// Reads all containers and the multifile of a set. Ignores containers that are being created or that are
// removed during the call.
NamedStreams read_set(Store& store, const std::vector<std::string>& containers, const std::string& multifile,
                      const SetReading& reading);

// A mutex of this process. Fork handlers acquire it before a fork, so that the child finds it unlocked and
// the guarded data consistent. A fork acquires the mutexes of sets first, then those of host containers, then
// those of readers.
class SetMutex : public std::mutex {
 public:
  enum class Of : uint8_t { set, reader };
  explicit SetMutex(Of what);
  ~SetMutex();

 private:
  const Of what_;
};

// Reads a set repeatedly without reading known records again, and keeps the contents that it read last.
//
// Threads: any. Forks: the object registers its mutex for the fork handlers. After a failed call, the next
// call reads what is missing.
class SetReader {
 public:
  // `own`: path of the container of this host.
  SetReader(Store& store, std::string path, std::string own, multifile::Checking checking);

  // Returns the contents of the set as of the last change found; never null. With `look`, checks for changes
  // first. Concurrent callers share checks: a caller uses the result of another caller's check if that check
  // began after its own call. `own`: origin of the container of this host, which is included if there are
  // files of others; 0 if this host has none.
  std::shared_ptr<const NamedStreams> now(bool look, uint64_t own);
  // Checks for changes and returns the contents. Includes the container of this host in any case, with
  // records that its writers have not announced yet.
  std::shared_ptr<const NamedStreams> again(uint64_t own);

  // Returns whether the last check found containers of other hosts.
  bool has_others() const { return has_others_; }
  multifile::Checking checking() const { return reads_.checking; }
  const std::string& path() const { return path_; }

 private:
  struct KnownContainer {
    std::string path;
    std::optional<ContainerContents> contents = {};  // nullopt: being created
  };
  struct KnownMultifile {
    std::shared_ptr<const multifile::BaseStreams> streams = {};  // null if its tasks have no names
    uint64_t seen = 0;                                           // size and number of the file; 0: none
  };

  // The caller holds the mutex:
  bool revalidate(KnownContainer& known, bool unsaid);
  bool look_for_containers(const std::vector<std::string>& paths);
  void look_for_base();
  void look();
  void replay(uint64_t own);

  Store& store_;
  const std::string path_;
  const ReadsOfBlocks reads_;
  std::atomic<uint64_t> begun_ = 0;  // checks started
  std::atomic<bool> has_others_ = false;
  SetMutex mutex_{SetMutex::Of::reader};  // guards the following members
  KnownContainer own_;
  std::vector<KnownContainer> others_;  // sorted by path
  KnownMultifile base_;
  SetCheck check_;                                // the last successful check
  bool changed_ = true;                           // since contents_ was read
  std::shared_ptr<const NamedStreams> contents_;  // null: outdated
};

}  // namespace sheaf::streams
