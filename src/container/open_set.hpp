// container/open_set: a set that a process of this host has open for more than reading: the container of the
// host, and what its processes share. Its streams keep it.
//
// Threads: any. Forks: objects know by themselves.
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

#include "container/container_set.hpp"
#include "container/container_writer.hpp"
#include "container/replay.hpp"
#include "container/shared_streams.hpp"
#include "process/host_memory.hpp"

namespace sheaf {

// A lock of this process that is free in the child of a fork, and what it guards is whole there. Forks take
// those of sets first, then those of open sets, then those of views.
class SetMutex : public std::mutex {
 public:
  enum class Of : uint8_t { set, view };
  explicit SetMutex(Of what);
  ~SetMutex();

 private:
  const Of what_;
};

// What to ask other hosts' containers, and the multifile, for.
class SetView {
 public:
  SetView(Store& store, const std::string& path, const std::string& own, Checking checking)
      : checking_(checking), reader_(store, path, own, checking) {}

  // The set as it was when something had last changed; never null. `look`: see whether something has. Who
  // comes while another one looks waits, and all who have waited are content with one look that began after
  // they came.
  std::shared_ptr<const SetContents> now(bool look, uint64_t own_origin);
  // With all of the own container, in any case.
  std::shared_ptr<const SetContents> again(uint64_t own_origin);
  // Whether the last look has found containers of others.
  bool has_others() const { return has_others_; }
  Checking checking() const { return checking_; }

 private:
  void look();
  void replay(uint64_t own_origin);

  const Checking checking_;
  std::atomic<uint64_t> begun_ = 0;  // looks
  std::atomic<bool> has_others_ = false;
  SetMutex mutex_{SetMutex::Of::view};  // guards what follows
  SetReader reader_;
  uint64_t done_ = 0;  // the last look that has succeeded
  bool known_ = false;
  uint64_t own_origin_ = 0;  // that the contents are for
  std::shared_ptr<const SetContents> contents_ = std::make_shared<SetContents>();
};

class OpenSet : public std::enable_shared_from_this<OpenSet> {
 public:
  // make: the container, if there is none. null: there is none.
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
  // Blocks of the own container that were compared.
  CheckedBlocks& checked() { return checked_; }

  // As records of the own container have it.
  format::StreamKey recorded(const format::StreamKey& key) const {
    return {key.number, key.origin == origin_ ? 0 : key.origin};
  }

  // The source of a piece from elsewhere; throws not_found if it has gone.
  SetSource source(uint64_t origin);

  // A stream of `elsewhere` among those that are shared, with its name; under the lock of names.
  SharedPlace bring_in(const ReplayedStream& stream, const SetContents& elsewhere);
  // What other hosts have done, as `elsewhere` knows, to streams that are shared here; under the lock of
  // names.
  void bring_up_to_date(const std::shared_ptr<const SetContents>& elsewhere);

  // Before the first record of the own container about a stream that was made elsewhere: one that says which
  // name it has. What made it may have become part of another multifile by then. Under the lock of names.
  void bind(SharedPlace at);

  // Gives a stream the name of `entry`, or, entry 0, takes the one it has, in the container as well. If it
  // throws nothing has happened; who is killed within has done it once somebody looks for a name. Under the
  // lock of names.
  void rename(SharedPlace at, SharedPlace entry);
  // Takes the name of a stream that has been renamed out of the set; false: it has not. Under the lock of
  // names.
  bool take_name_of_moved(SharedPlace at);

  // Own bytes of a stream from `size` on, which can be given back to the file system when nobody wants them.
  std::vector<UnusedBytes> unused(SharedStream& stream, int64_t size);
  void discard(const std::vector<UnusedBytes>& unused);

  // Makes slots for all blocks that end in the first `length` bytes of a piece. Under the lock of its stream.
  void make_slots(SharedPiece& piece, int64_t length);

  // Streams that are open here, for forks.
  using Opens = std::list<SharedPlace>;
  Opens::iterator note_open(SharedPlace at);
  void note_close(Opens::iterator at);

  void before_fork();
  void after_fork(bool in_child);

  // A piece that has grown where its record is gets a record of what it has grown by: who knows the first one
  // need not read it again. Under the lock of the stream.
  void record_growth(SharedStream& stream);

  // What a close has to do for other hosts.
  void hand_over();

  int64_t block_size() const { return block_size_; }  // bytes: of requests that the file system likes

 private:
  OpenSet(std::string path, std::shared_ptr<SetView> view) : view_(std::move(view)), path_(std::move(path)) {}
  bool join_once(Store& store, const std::string& container, const std::string& host,
                 const std::string& directory, bool make);
  void fill(Store& store, const std::string& container, const std::string& host, HostMemory& memory);
  bool lock_container();
  void finish_renaming();
  void bring_up_to_date(SharedPlace at, const ReplayedStream& now, const SetContents& elsewhere);
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
  bool mapped_ = false;                       // mappings of the container agree with reads
  bool local_ = false;                        // one cache: a close has nothing to do
  std::shared_ptr<const SetContents> known_;  // what streams are up to date with; under the lock of names
  std::mutex opens_mutex_;
  Opens opens_;
  bool registered_ = false;
  RangeLock lock_;          // says that the container is in use
  int64_t locked_at_ = -1;  // how many forks there had been then; -1: it is not
  bool was_taken_ = false;  // the container is in the multifile
};

// Removes a container that has been taken in, and what killed processes have left in memory for it.
void remove_container(Store& store, const std::string& container, const std::string& memory_directory);
// The same, but the file is kept as `to`.
void set_container_aside(Store& store, const std::string& container, const std::string& to,
                         const std::string& memory_directory);

// Tells the open sets of this process of its forks, from note_set() to forget_set() (set_forks.cpp).
void note_set(OpenSet* set);
void forget_set(OpenSet* set);

}  // namespace sheaf
