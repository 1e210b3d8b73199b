// streams/mount/live_set: shows the streams of a set of containers (streams/container/container_set) as
// writable files and folders.
//
// Each request looks the stream up in the set, so that changes by other programs are visible. Slashes in
// stream names create folders. The object remembers an empty folder that a program has created until a
// program removes the folder. A number denotes the same name as long as the kernel's lookup count of the
// number is positive. Thread-safe. All functions throw an Error with the errno that a file system would
// return.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "streams/container/container_set.hpp"

namespace sheaf::mount {

class LiveSet {
 public:
  // Smallest number of files and folders of a live set, except the top folder, which has its number in the
  // tree.
  static constexpr uint64_t first_number = uint64_t{1} << 62;

  struct LiveEntry {
    uint64_t number = 0;
    bool is_folder = false;
    streams::StreamStatus status;  // of a stream
  };
  struct LiveSetEntry {
    std::string name;
    bool is_folder = false;
  };

  LiveSet(std::shared_ptr<streams::ContainerSet> set, uint64_t top) : set_(std::move(set)), top_(top) {}

  bool has(uint64_t number) const { return number >= first_number; }

  // Returns the file or folder `name` of `folder`; nullopt if it does not exist. A successful call adds one
  // to the kernel's lookup count of the number.
  std::optional<LiveEntry> find(uint64_t folder, std::string_view name);
  LiveEntry at(uint64_t number);
  void forget(uint64_t number, uint64_t times);
  std::vector<LiveSetEntry> list(uint64_t folder);

  std::shared_ptr<streams::ContainerStream> open(uint64_t number, bool write, bool truncate);
  struct Created {
    LiveEntry found;
    std::shared_ptr<streams::ContainerStream> stream;
  };
  // Creates a file and opens it for writing. Increments the lookup count of its number, as find() does.
  Created create(uint64_t folder, std::string_view name, uint32_t mode, bool exclusive, bool truncate);
  LiveEntry make_folder(uint64_t folder, std::string_view name);
  void remove_folder(uint64_t folder, std::string_view name);
  void remove(uint64_t folder, std::string_view name);
  // Renames a file. With `keep`, throws EEXIST if `to` exists; otherwise replaces `to`.
  void rename(uint64_t from_folder, std::string_view from, uint64_t to_folder, std::string_view to,
              bool keep);
  void truncate(uint64_t number, int64_t size);
  void set(uint64_t number, const streams::StreamAttributes& attributes);

 private:
  struct LiveNode {
    std::string path;  // empty: removed
    uint64_t remembered = 0;
    // Handle of the stream that was opened last; may be read-only.
    std::weak_ptr<streams::ContainerStream> open;
    uint64_t stream = 0;  // StreamStatus::number of the stream opened last
  };

  // The caller holds the mutex:
  uint64_t number_of(const std::string& path);
  std::string path_of(uint64_t number) const;  // throws ENOENT
  std::string path_in(uint64_t folder, std::string_view name) const;
  void lose(const std::string& path);
  // The caller does not hold the mutex:
  std::string path_below(uint64_t folder, std::string_view name);
  bool is_folder(const std::string& path);
  bool is_empty(const std::string& path);
  std::shared_ptr<streams::ContainerStream> opened(uint64_t number);
  // Returns a writable handle of an open stream that has lost its name. Returns null if the stream has a name
  // or is not open.
  std::shared_ptr<streams::ContainerStream> nameless(uint64_t number);

  std::shared_ptr<streams::ContainerSet> set_;
  const uint64_t top_;
  std::mutex mutex_;  // guards the following members
  std::unordered_map<uint64_t, LiveNode> nodes_;
  std::unordered_map<std::string, uint64_t> numbers_;  // by path
  std::set<std::string> folders_;                      // folders that may be empty
  uint64_t next_ = first_number;
};

}  // namespace sheaf::mount
