// container/shared_streams: what the processes of a host share of a set while it is open: names, streams, and
// where their bytes are.
//
// It lies in memory that they share (process/host_memory), and can be made from the containers at any time,
// so nothing depends on it once they are gone. Nothing here is written to a file. A process may be killed
// anywhere: what others see is changed by single stores, the last of which counts, and who next takes a lock
// that was held puts right what is half done.
//
// Locks are taken in this order: names, a stream's, log, tables, memory. Places are offsets in the shared
// memory; 0 is none.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>

#include "container/sums/shared_sums.hpp"
#include "format/container.hpp"
#include "process/host_memory.hpp"

namespace sheaf {

using SharedPlace = uint64_t;

// Bytes of a stream in one piece. Under the lock of the stream, but for reading.
struct SharedPiece {
  std::atomic<SharedPlace> next;
  int64_t offset;                 // in the stream
  std::atomic<int64_t> length;    // 0: cut away
  std::atomic<int64_t> capacity;  // >= length: it may grow so far. Of a multifile: the task
  int64_t place;                  // in the file
  int64_t record;                 // its record in the own container; 0: it does not grow
  int64_t time;                   // of that
  uint64_t origin;                // of its container or multifile; 0: the own container
  SharedSums sums;                // of a piece in the own container
};
static_assert(sizeof(SharedPiece) == 128);

struct SharedStream {
  HostMutex lock;                  // of what follows, but for reading single numbers
  SharedPlace all;                 // the next of all that there ever were
  std::atomic<SharedPlace> entry;  // its name; 0: none. Under the lock of names
  std::atomic<int64_t> opens;      // that somebody holds. Under the lock of names
  std::atomic<uint32_t> used;      // 0: free; 2: its first name is still to come, nobody else knows it
  std::atomic<uint32_t> bound;     // the own container says which name it has. Under the lock of names
  std::atomic<uint32_t> mode;
  std::atomic<int64_t> size;
  std::atomic<int64_t> modified;
  std::atomic<int64_t> changed;
  std::atomic<int64_t> named;      // when it got its name
  std::atomic<int64_t> cut_to;     // a size that is being set; -1: none is
  std::atomic<int64_t> cut;        // when its size was set: pieces from before do not grow
  std::atomic<int64_t> elsewhere;  // what it is of other containers that is in here (ReplayedStream)
  std::atomic<int64_t> looked;     // when the look began that has found them (SetContents)
  std::atomic<uint64_t> version;   // pieces have changed in another way than by growing or by new ones
  std::atomic<uint64_t> growth;    // number of times that pieces have grown
  std::atomic<SharedPlace> first;  // of its pieces, in the order in which they count
  std::atomic<SharedPlace> last;
  std::atomic<SharedPlace> grown;   // a piece of more bytes than records say that do not change; 0: none has
  std::atomic<int64_t> grown_from;  // what they say of that one
  std::atomic<SharedPlace> moving;  // where it goes while the container is being told; 0: nowhere
  std::atomic<SharedPlace> moved;   // where it has gone that is not in the set any more; 0: it is
  SharedOverwrite over;
  format::StreamKey key;  // origin: never 0
};

// A name, or a key of a stream that was made elsewhere.
struct SharedEntry {
  std::atomic<SharedPlace> next;  // in its bucket
  uint64_t hash;
  SharedPlace stream;
  uint32_t bytes;
  char name[4];  // `bytes` of them
};

// Of a stream that was renamed out of the set: what StreamTarget says.
struct SharedTarget {
  uint64_t device;
  uint64_t number;
  uint32_t bytes;
  char path[4];  // `bytes` of them
};

// An area where records of all processes go.
struct RecordArea {
  int64_t place;
  int64_t used;   // bytes
  int64_t bytes;  // that it has; 0: there is none
  bool entered;   // in a table of the container
};

class SharedStreams {
 public:
  static constexpr uint32_t layout = 6;  // of everything here, and of the memory it is in

  explicit SharedStreams(HostMemory& memory) : memory_(memory) {}
  void make(const format::Identity& identity, bool summed);  // in new memory

  struct Head {
    HostMutex names;
    HostMutex memory;
    HostMutex tables;  // of the container
    HostMutex log;     // where records of all processes go, one behind the other (ContainerWriter)
    format::Identity identity;
    bool summed;                     // the container has checksums
    std::atomic<int64_t> clock;      // the newest time that was given out
    std::atomic<uint64_t> numbers;   // the newest number of a stream
    std::atomic<int64_t> tail;       // the first place of the container that nobody has
    int64_t last_table;              // under `tables`
    int64_t last_entries;            // under `tables`
    RecordArea log_area;             // under `log`
    RecordArea spare_area;           // under `log`: for records that make room on a full disk
    std::atomic<int64_t> streams;    // that have names
    std::atomic<SharedPlace> all;    // streams
    std::atomic<SharedPlace> spare;  // streams that are free
    uint64_t used;                   // bytes of the memory, under `memory`
    // Under the lock of names: a stream that gets another name, and its entry, 0 for none. `renamed` is 0
    // unless that has been begun; who finds something else under the lock has it to finish.
    std::atomic<SharedPlace> renamed;
    std::atomic<SharedPlace> renamed_to;
    SharedPlace free[66];  // blocks by their size in 64 bytes, under `memory`
    struct Level {
      std::atomic<SharedPlace> buckets;
      uint64_t mask;
      int64_t entries;
    } levels[48];
    std::atomic<uint32_t> level_count;
  };
  Head& head() { return memory_.as<Head>(HostMemory::first_free); }
  HostMemory& memory() { return memory_; }
  SharedStream& stream(SharedPlace at) { return memory_.as<SharedStream>(at); }
  SharedPiece& piece(SharedPlace at) { return memory_.as<SharedPiece>(at); }
  SharedEntry& entry(SharedPlace at) { return memory_.as<SharedEntry>(at); }
  SharedTarget& target(SharedPlace at) { return memory_.as<SharedTarget>(at); }

  // A time that no other record of this host has, now or as soon after as that can be.
  int64_t tick();
  // Somebody has given out this time elsewhere: what is done from now on is later.
  void hear(int64_t time);

  // --- under the lock of names

  class NamesLock {
   public:
    explicit NamesLock(SharedStreams& streams) : streams_(streams) {
      if (streams.head().names.lock()) streams.mend_names();
    }
    ~NamesLock() { streams_.head().names.unlock(); }
    NamesLock(const NamesLock&) = delete;
    NamesLock& operator=(const NamesLock&) = delete;

   private:
    SharedStreams& streams_;
  };

  SharedPlace find(std::string_view name);         // the stream, or 0
  SharedPlace find(const format::StreamKey& key);  // of those for which note_key() was called
  void note_key(SharedPlace stream);
  // A stream without a name or pieces. Throws no_space.
  SharedPlace make_stream(const format::StreamKey& key, uint32_t mode, int64_t time);
  // What give_name() will need, so that it cannot fail. The name is the caller's to check.
  SharedPlace make_entry(SharedPlace stream, std::string_view name);
  void drop_entry(SharedPlace entry);
  // Its only name from now on; a stream that had it has none any more.
  void give_name(SharedPlace entry, int64_t time);
  void take_name(SharedPlace stream);
  void open(SharedPlace stream) { this->stream(stream).opens.fetch_add(1); }
  void close(SharedPlace stream);
  // It is free unless somebody has it open or can find it.
  void let_go(SharedPlace stream) { open(stream), close(stream); }
  std::string_view name_of(SharedPlace stream);  // valid under the lock
  std::string_view name_in(SharedPlace at) { return {entry(at).name, entry(at).bytes}; }
  // Also those without a name.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (SharedPlace at = head().all.load(); at != 0; at = stream(at).all)
      if (stream(at).used.load() != 0) visit(at);
  }

  // --- under the lock of the stream

  class StreamLock {
   public:
    StreamLock(SharedStreams& streams, SharedPlace at) : stream_(streams.stream(at)) {
      if (stream_.lock.lock()) streams.mend(stream_);
    }
    ~StreamLock() { stream_.lock.unlock(); }
    StreamLock(const StreamLock&) = delete;
    StreamLock& operator=(const StreamLock&) = delete;

   private:
    SharedStream& stream_;
  };

  // A place for a piece; throws no_space.
  SharedPlace make_piece() {
    const SharedPlace at = allocate(sizeof(SharedPiece));
    ::new (memory_.at(at)) SharedPiece{};
    return at;
  }
  // A place for more slots of a piece, which add_slots() then gives it; throws no_space.
  SharedPlace make_slots() { return allocate(sizeof(SharedSlots)); }
  void drop_slots(SharedPlace at) { release(at, sizeof(SharedSlots)); }
  void drop_piece(SharedPlace piece);
  // Its fields are set; it is the last one from now on.
  void add_piece(SharedStream& stream, SharedPlace piece);
  void drop_pieces(SharedStream& stream);
  // Where it goes, for `moved`; throws no_space.
  SharedPlace make_target(std::string_view path);
  void drop_target(SharedPlace at);
  // Sets the size; visit(piece, from) for each own piece of which something is cut away.
  void cut(SharedStream& stream, int64_t size, int64_t time);

 private:
  friend class NamesLock;
  friend class StreamLock;
  SharedPlace allocate(uint64_t bytes);
  void release(SharedPlace at, uint64_t bytes);
  void link(SharedPlace entry);
  void unlink(SharedPlace entry);
  SharedPlace find_entry(std::string_view name);
  void add_level();
  void cut_pieces(SharedStream& stream, int64_t size);
  void mend_names();
  void mend(SharedStream& stream);

  HostMemory& memory_;
};

}  // namespace sheaf
