// streams/container/shared_streams: the state of an open set that the processes of a host share: names,
// streams, and the extents of their bytes.
//
// The state is in shared memory (base/os/host_memory) and can be rebuilt from the containers at any time, so
// it need not survive its processes. It is never written to a file. A process may be killed at any point:
// every change becomes visible with one final store. The next process that acquires an abandoned lock
// completes or repairs the change.
//
// Lock order: names, a stream, log, tables, memory. Places are offsets in the shared memory; 0 means none.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "base/os/host_memory.hpp"
#include "format/container.hpp"
#include "streams/container/sums/shared_sums.hpp"

namespace sheaf::streams {

using SharedPlace = uint64_t;

// A contiguous extent of a stream. A process must hold the lock of the stream to change it, but may read
// single fields without the lock.
struct SharedPiece {
  std::atomic<SharedPlace> next;
  int64_t offset;                 // in the stream
  std::atomic<int64_t> length;    // 0: cut off
  std::atomic<int64_t> capacity;  // >= length: limit of growth. In a multifile: number of the task
  int64_t place;                  // in the file
  int64_t record;                 // place of the record in the own container; 0: the piece does not grow
  int64_t time;                   // time of that record
  int64_t recorded;               // length that immutable records state
  uint64_t origin;                // container or multifile with the bytes; 0: the own container
  SharedSums sums;                // for a piece in the own container
};
static_assert(sizeof(SharedPiece) == 128);

enum class StreamUse : uint32_t {
  free,
  unnamed,  // not named yet, known only to its creator
  named,    // has or had a name
  bound,    // as `named`, and the own container has a record of the name
};

struct SharedStream {
  HostMutex lock;                  // guards the following fields; single numbers may be read without it
  SharedPlace all;                 // next in the list of all streams ever allocated
  std::atomic<SharedPlace> entry;  // its name; 0: none. Guarded by the lock of names
  std::atomic<int64_t> opens;      // number of open handles. Guarded by the lock of names
  std::atomic<StreamUse> use;      // guarded by the lock of names
  std::atomic<uint32_t> mode;
  std::atomic<int64_t> size;
  std::atomic<int64_t> modified;
  std::atomic<int64_t> changed;
  std::atomic<int64_t> named;       // time of the last naming
  std::atomic<int64_t> cut_to;      // size that is being set; -1: none
  std::atomic<int64_t> cut;         // time of the last change of size; older pieces do not grow
  std::atomic<int64_t> elsewhere;   // state of other containers included here (ReplayedStream)
  std::atomic<int64_t> looked;      // start of the check that found this state (SetContents)
  std::atomic<uint64_t> version;    // counts changes to pieces other than growth and additions
  std::atomic<uint64_t> growth;     // counts growths of pieces
  std::atomic<SharedPlace> first;   // first piece, in order of precedence
  std::atomic<SharedPlace> grown;   // piece that may be longer than `recorded`; 0: none
  std::atomic<SharedPlace> moving;  // destination while the move is being recorded in the container; 0: none
  std::atomic<SharedPlace> moved;   // destination of a stream that left the set; 0: it is in the set
  SharedOverwrite over;
  format::StreamKey key;  // origin: never 0
};

// An entry of the hash table: the name of a stream, or the key of a stream that another container has
// created.
struct SharedEntry {
  std::atomic<SharedPlace> next;  // next in its bucket
  uint64_t hash;
  SharedPlace stream;
  uint32_t bytes;
  char name[4];  // `bytes` characters
};

// Destination of a stream that was renamed out of the set, as in StreamTarget.
struct SharedTarget {
  uint64_t device;
  uint64_t number;
  uint32_t bytes;
  char path[4];  // `bytes` characters
};

// An area for records of all processes of the host.
struct RecordArea {
  int64_t place;
  int64_t used;   // bytes
  int64_t bytes;  // size; 0: no area
  bool entered;   // listed in a table of the container
};

class SharedStreams {
 public:
  static constexpr uint32_t layout = 7;  // version of the structures of this file and of HostMemory

  explicit SharedStreams(HostMemory& memory) : memory_(memory) {}
  void make(const format::Identity& identity, bool summed);  // initializes new memory

  struct Head {
    HostMutex names;
    HostMutex memory;
    HostMutex tables;  // guards the tables of the container
    HostMutex log;     // guards the log of records of all processes (ContainerWriter)
    format::Identity identity;
    bool summed;                     // the container has checksums
    std::atomic<int64_t> clock;      // newest time issued
    std::atomic<uint64_t> numbers;   // newest stream number
    std::atomic<int64_t> tail;       // first unallocated place of the container
    int64_t last_table;              // place of the last known table of areas; guarded by `tables`
    RecordArea log_area;             // guarded by `log`
    RecordArea spare_area;           // guarded by `log`; for records that free space on a full disk
    std::atomic<SharedPlace> all;    // head of the list of streams
    std::atomic<SharedPlace> spare;  // head of the list of free streams
    uint64_t used;                   // bytes of the memory; guarded by `memory`
    // A rename in progress: the stream and its new entry, 0 to remove the name. Guarded by the lock of names.
    // `renamed` is 0 unless a rename has begun; a process that acquires the lock and finds another value must
    // complete the rename.
    std::atomic<SharedPlace> renamed;
    std::atomic<SharedPlace> renamed_to;
    SharedPlace free[66];  // free blocks by size in units of 64 bytes; guarded by `memory`
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

  // Advances the clock and returns the new time: the present, or the smallest greater time if the host has
  // already used the present.
  int64_t tick();
  // Advances the clock to at least `time`, a time that another host has issued. Later calls of tick() return
  // greater times.
  void hear(int64_t time);

  // --- The caller holds the lock of names:

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

  SharedPlace find(std::string_view name);         // 0 if not found
  SharedPlace find(const format::StreamKey& key);  // finds only streams registered with note_key()
  void note_key(SharedPlace stream);
  // Allocates a stream without a name or pieces. Throws `no_space`.
  SharedPlace make_stream(const format::StreamKey& key, uint32_t mode, int64_t time);
  // Allocates an entry for give_name(), which then cannot fail. The caller has validated the name.
  SharedPlace make_entry(SharedPlace stream, std::string_view name);
  void drop_entry(SharedPlace entry);
  // Makes the entry's name the only name of its stream. Another stream with this name loses it.
  void give_name(SharedPlace entry, int64_t time);
  void take_name(SharedPlace stream);
  void open(SharedPlace stream) { this->stream(stream).opens.fetch_add(1); }
  void close(SharedPlace stream);
  // Frees the stream unless it is open or can be found by name or key.
  void let_go(SharedPlace stream) { open(stream), close(stream); }
  std::string_view name_of(SharedPlace at) {  // valid while the lock is held
    const SharedPlace name = stream(at).entry.load();
    return name == 0 ? std::string_view() : name_in(name);
  }
  std::string_view name_in(SharedPlace at) { return {entry(at).name, entry(at).bytes}; }
  // Visits all streams, including those without a name.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (SharedPlace at = head().all.load(); at != 0; at = stream(at).all)
      if (stream(at).use.load() != StreamUse::free) visit(at);
  }

  // --- The caller holds the lock of the stream:

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

  // Allocates a piece. Throws `no_space`.
  SharedPlace make_piece() {
    const SharedPlace at = allocate(sizeof(SharedPiece));
    ::new (memory_.at(at)) SharedPiece{};
    return at;
  }
  // Allocates more slots for a piece, to be passed to add_slots(). Throws `no_space`.
  SharedPlace make_slots() { return allocate(sizeof(SharedSlots)); }
  void drop_slots(SharedPlace at) { release(at, sizeof(SharedSlots)); }
  void drop_piece(SharedPlace piece);
  // Appends a fully initialized piece to the list of the stream. `last`: the last piece of the list; 0: none.
  void add_piece(SharedStream& stream, SharedPlace last, SharedPlace piece);
  void drop_pieces(SharedStream& stream);
  // Allocates a destination for `SharedStream::moved`. Throws `no_space`.
  SharedPlace make_target(std::string_view path);
  void drop_target(SharedPlace at);
  // Sets the size and cuts off the pieces beyond it.
  void cut(SharedStream& stream, int64_t size, int64_t time);

 private:
  friend class NamesLock;
  friend class StreamLock;
  SharedPlace allocate(uint64_t bytes);
  void release(SharedPlace at, uint64_t bytes);
  void link(SharedPlace entry);
  void unlink(SharedPlace entry);
  void note_named(SharedStream& stream);
  SharedPlace find_entry(std::string_view name);
  void add_level();
  void cut_pieces(SharedStream& stream, int64_t size);
  std::vector<SharedPlace> take_chains();
  void mend_name(SharedPlace stream);
  void mend_names();
  void mend(SharedStream& stream);

  HostMemory& memory_;
};

}  // namespace sheaf::streams
