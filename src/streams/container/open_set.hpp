// streams/container/open_set: a set that a process of this host has opened for writing. An open set consists
// of the host's container and of the state that the host's processes share. Each open stream keeps its set
// alive.
//
// Threads: any. Forks: the objects register themselves for the fork handlers (set_forks.cpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/os/host_memory.hpp"
#include "streams/container/container_set.hpp"
#include "streams/container/container_writer.hpp"
#include "streams/container/replay.hpp"
#include "streams/container/shared_streams.hpp"

namespace sheaf::streams {

// A mutex of this process. Fork handlers acquire it before a fork, so that the child finds it unlocked and
// the guarded data consistent. A fork acquires the mutexes of sets first, then those of open sets, then those
// of views.
class SetMutex : public std::mutex {
 public:
  enum class Of : uint8_t { set, view };
  explicit SetMutex(Of what);
  ~SetMutex();

 private:
  const Of what_;
};

// A cached view of the containers of other hosts and of the multifile.
class SetView {
 public:
  SetView(Store& store, const std::string& path, const std::string& own, multifile::Checking checking)
      : checking_(checking), reader_(store, path, own, checking) {}

  // Returns the contents of the set as of the last change found; never null. With `look`, checks for changes
  // first. Concurrent callers share checks: a caller uses the result of another caller's check if that check
  // began after its own call.
  std::shared_ptr<const SetContents> now(bool look, uint64_t own_origin);
  // Checks for changes, reads the host's own container again, and returns the contents. Unlike now(),
  // includes the own container even if no other host has one.
  std::shared_ptr<const SetContents> again(uint64_t own_origin);
  // Returns whether the last check found containers of other hosts.
  bool has_others() const { return has_others_; }
  multifile::Checking checking() const { return checking_; }

 private:
  void look();
  void replay(uint64_t own_origin);

  const multifile::Checking checking_;
  std::atomic<uint64_t> begun_ = 0;  // checks started
  std::atomic<bool> has_others_ = false;
  SetMutex mutex_{SetMutex::Of::view};  // guards the following members
  SetReader reader_;
  uint64_t done_ = 0;  // the last successful check
  bool known_ = false;
  uint64_t own_origin_ = 0;  // `own_origin` for which contents_ was read
  std::shared_ptr<const SetContents> contents_ = std::make_shared<SetContents>();
};

class OpenSet : public std::enable_shared_from_this<OpenSet> {
 public:
  // Opens the container of `host` and the memory shared by its processes. With `make`, creates a missing
  // container; otherwise returns null if the container does not exist.
  static std::shared_ptr<OpenSet> join(Store& store, const std::string& path, const std::string& host,
                                       const std::string& memory_directory, bool make,
                                       const std::shared_ptr<SetView>& view);
  ~OpenSet();
  OpenSet(const OpenSet&) = delete;
  OpenSet& operator=(const OpenSet&) = delete;

  SharedStreams& streams() { return *streams_; }
  ContainerWriter& writer() { return *writer_; }
  File& file() { return *file_; }
  HostMemory& memory() { return *memory_; }
  uint64_t origin() const { return origin_; }
  SetView& view() { return *view_; }
  SumWriter& sums() { return *sums_; }
  // Returns the verified blocks of the host's own container.
  CheckedBlocks& checked() { return checked_; }

  // Returns `key` in the form used by records of the own container.
  format::StreamKey recorded(const format::StreamKey& key) const {
    return {key.number, key.origin == origin_ ? 0 : key.origin};
  }

  // Returns the container or multifile with this origin, from which pieces of streams can be read. Throws
  // `not_found` if the file was removed.
  SetSource source(uint64_t origin);

  // Adds a stream of `elsewhere`, with its name, to the shared streams. The caller holds the lock of names.
  SharedPlace bring_in(const ReplayedStream& stream, const SetContents& elsewhere);
  // Applies the changes of other hosts, as known to `elsewhere`, to the shared streams. The caller holds the
  // lock of names.
  void revalidate(const std::shared_ptr<const SetContents>& elsewhere);

  // Records the name of a stream that another container or the multifile has created. Must be called before
  // the own container gets any other record of the stream. When the creating container is gathered, the key
  // of the stream loses its meaning, and only the name identifies the stream. The caller holds the lock of
  // names.
  void bind(SharedPlace at);

  // Renames the stream `at` to the name of `entry`, or removes its name if `entry` is 0, in shared memory and
  // in the container. A call that throws has changed nothing. If the process is killed within the call, the
  // next process that looks up a name completes the rename. The caller holds the lock of names.
  void rename(SharedPlace at, SharedPlace entry);
  // Removes the name of the stream `at` if the stream was renamed out of the set. Otherwise returns false.
  // The caller holds the lock of names.
  bool take_name_of_moved(SharedPlace at);

  // unused() returns the bytes of the stream from `size` on that are in the own container. discard() releases
  // them to the file system; the caller must have removed them from the stream.
  std::vector<UnusedBytes> unused(SharedStream& stream, int64_t size);
  void discard(const std::vector<UnusedBytes>& unused);

  // Creates checksum slots for all blocks that end in the first `length` bytes of `piece`. The caller holds
  // the lock of the piece's stream.
  void make_slots(SharedPiece& piece, int64_t length);

  // The open streams of this process. before_fork() counts each of them once more for the child.
  using Opens = std::list<SharedPlace>;
  Opens::iterator note_open(SharedPlace at);
  void note_close(Opens::iterator at);

  void before_fork();
  void after_fork(bool in_child);

  // Appends a record of the bytes by which a piece has grown since its first record. Readers that know the
  // first record learn of the growth without reading that record again. The caller holds the lock of the
  // stream.
  void record_growth(SharedStream& stream);

  // Publishes changes to other hosts. Called by each close of a stream.
  void publish_changes();

  int64_t block_size() const { return block_size_; }  // bytes, preferred request size of the file system

 private:
  OpenSet(std::string path, std::shared_ptr<SetView> view) : view_(std::move(view)), path_(std::move(path)) {}
  bool join_once(Store& store, const std::string& container, const std::string& host,
                 const std::string& directory, bool make);
  void fill(Store& store, const std::string& container, const std::string& host, HostMemory& memory);
  bool lock_container();
  void finish_renaming();
  void revalidate(SharedPlace at, const ReplayedStream& now, const SetContents& elsewhere);
  void copy_pieces(SharedStream& stream, const ReplayedStream& from, const SetContents& contents);
  void copy_sums(SharedPiece& made, const RoomIndex& index);

  const std::shared_ptr<SetView> view_;
  const std::string path_;
  std::shared_ptr<File> file_;
  std::unique_ptr<HostMemory> memory_;
  std::unique_ptr<SharedStreams> streams_;
  std::unique_ptr<ContainerWriter> writer_;
  std::unique_ptr<SumWriter> sums_;
  CheckedBlocks checked_;
  uint64_t origin_ = 0;
  int64_t block_size_ = 0;
  bool mapped_ = false;                       // mappings of the container are coherent with reads
  bool local_ = false;                        // all hosts share one cache, so that a close publishes nothing
  std::shared_ptr<const SetContents> known_;  // contents applied to the streams; guarded by the lock of names
  std::mutex opens_mutex_;
  Opens opens_;
  bool registered_ = false;
  RangeLock lock_;          // marks the container as in use
  int64_t locked_at_ = -1;  // number of forks when the lock was acquired; -1: not locked
  bool was_taken_ = false;  // the container was gathered into the multifile
};

// Removes a container that was gathered, and the shared memory that killed processes have left for it.
void remove_container(Store& store, const std::string& container, const std::string& memory_directory);
// Does the same as remove_container(), but renames the container to `to` instead of removing it.
void set_container_aside(Store& store, const std::string& container, const std::string& to,
                         const std::string& memory_directory);

// Register and unregister an open set for the fork handlers (set_forks.cpp).
void note_set(OpenSet* set);
void forget_set(OpenSet* set);

}  // namespace sheaf::streams
