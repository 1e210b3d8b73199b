// streams/container/host_container: the container of this host in a set, opened for writing by a process. It
// consists of the file and of the index that the processes of the host share. Each open stream keeps its
// container open.
//
// Threads: any. Forks: the objects register themselves for the fork handlers (host_container.cpp).
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/non_copyable.hpp"
#include "base/os/host_memory.hpp"
#include "streams/container/container_set.hpp"
#include "streams/container/container_writer.hpp"
#include "streams/container/index/container_index.hpp"
#include "streams/container/replay.hpp"

namespace sheaf::streams {

class HostContainer : private NonCopyable {
 public:
  // Opens the container of `host` in the set of `reader`, and the memory shared by the processes of the host.
  // `host` must have a name. With `make`, creates a missing container; otherwise returns null if the
  // container does not exist.
  static std::shared_ptr<HostContainer> join(Store& store, const ContainerHost& host, bool make,
                                             const std::shared_ptr<SetReader>& reader);
  ~HostContainer();

  ContainerIndex& index() { return *index_; }
  ContainerWriter& writer() { return *writer_; }
  File& file() { return *file_; }
  uint64_t origin() const { return origin_; }
  SetReader& reader() { return *reader_; }
  CheckedBlocks& checked() { return checked_; }       // verified blocks of this container
  int64_t block_size() const { return block_size_; }  // bytes, preferred request size of the file system

  // Returns `key` in the form used by records of this container.
  format::StreamKey recorded(const format::StreamKey& key) const {
    return {key.number, key.origin == origin_ ? 0 : key.origin};
  }

  // Returns the container or multifile with this origin, from which pieces of streams can be read. Throws
  // `not_found` if the file was removed.
  SetSource source(uint64_t origin);

  // --- The caller holds the lock of names:

  // Applies the changes of other hosts, as known to `elsewhere`, to the shared streams.
  void revalidate(const std::shared_ptr<const NamedStreams>& elsewhere);
  // Returns the shared stream `name` after revalidate(elsewhere); 0 if it does not exist.
  SharedPlace find(const std::shared_ptr<const NamedStreams>& elsewhere, std::string_view name);
  // Creates the stream `name`, which must not exist.
  SharedPlace create(std::string_view name, const StreamOpening& opening);
  // Records the name of a stream that another container or the multifile has created. Must be called before
  // this container gets any other record of the stream. When the creating container is gathered, the key of
  // the stream loses its meaning, and only the name identifies the stream.
  void bind(SharedPlace at);
  // Renames the stream `at` to `to`, or removes its name if `to` is empty, in shared memory and in the
  // container. Another stream with this name loses it. A call that throws has changed nothing. If the process
  // is killed within the call, the next process that looks up a name completes the rename.
  void rename(SharedPlace at, std::string_view to);

  // Appends a record of the bytes by which a piece has grown since its first record. Readers that know the
  // first record learn of the growth without reading that record again. The caller holds the lock of the
  // stream.
  void record_growth(SharedStream& stream);

  // Publishes changes to other hosts. Called by each close of a stream.
  void publish_changes();

  // The open streams of this process. before_fork() counts each of them once more for the child.
  using Opens = std::list<SharedPlace>;
  Opens::iterator note_open(SharedPlace at);
  void note_close(Opens::iterator at);

  void before_fork();
  void after_fork(bool in_child);

 private:
  struct Joining;  // arguments and findings of join()
  struct NotedOpens {
    std::mutex mutex;
    Opens places;
  };
  // Marks the container as in use.
  struct UseLock {
    // Acquires the lock that gathering jobs check. Returns false if a job is gathering the container now;
    // that job will remove it.
    bool acquire(File& file);
    ~UseLock();

    RangeLock lock;
    int64_t forks = -1;  // number of forks when the lock was acquired
  };

  explicit HostContainer(std::shared_ptr<SetReader> reader) : reader_(std::move(reader)) {}
  bool join_once(Joining& joining);
  void fill(Joining& joining, HostMemory& memory);
  void finish_renaming();
  bool take_name_of_moved(SharedPlace at);
  SharedPlace bring_in(const NamedStream& stream, const NamedStreams& elsewhere);
  void revalidate(SharedPlace at, const NamedStream& now, const NamedStreams& elsewhere);
  void copy_pieces(SharedStream& stream, const NamedStream& from, const NamedStreams& contents);

  const std::shared_ptr<SetReader> reader_;
  std::shared_ptr<File> file_;
  UseLock use_;  // released after the memory was left, and before the file is closed
  std::unique_ptr<HostMemory> memory_;
  std::unique_ptr<ContainerIndex> index_;
  std::unique_ptr<ContainerWriter> writer_;
  CheckedBlocks checked_;
  uint64_t origin_ = 0;
  int64_t block_size_ = 0;
  bool local_ = false;                         // all hosts share one cache, so that a close publishes nothing
  std::shared_ptr<const NamedStreams> known_;  // applied to the streams; guarded by the lock of names
  NotedOpens opens_;
};

// Removes a container that was gathered, or renames it to `aside` if that is not empty. Removes the shared
// memory that killed processes have left for it.
void remove_container(Store& store, const std::string& container, const std::string& memory_directory,
                      const std::string& aside = {});

}  // namespace sheaf::streams
