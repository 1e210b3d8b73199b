// streams/container/index/container_index: the index of a container, which the processes of its host share:
// names, streams, and the extents of their bytes.
//
// The state is in shared memory (base/os/host_memory) and can be rebuilt from the containers at any time, so
// it need not survive its processes. It is never written to a file. A process may be killed at any point:
// every change becomes visible with one final store. The next process that acquires an abandoned lock
// completes or repairs the change.
//
// Lock order: names, a stream, log, tables, allocator.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/os/host_memory.hpp"
#include "format/container.hpp"
#include "streams/container/index/shared_allocator.hpp"
#include "streams/container/index/shared_names.hpp"
#include "streams/container/sums/shared_sums.hpp"

namespace sheaf::streams {

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
  int64_t recorded;               // bytes that records cover; 0 if `record` is 0
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
  std::atomic<int64_t> elsewhere;   // state of other containers included here (NamedStream)
  std::atomic<int64_t> looked;      // start of the check that found this state (SetCheck)
  std::atomic<uint64_t> version;    // counts changes to pieces other than growth and additions
  std::atomic<uint64_t> growth;     // counts growths of pieces
  std::atomic<SharedPlace> first;   // first piece, in order of precedence
  std::atomic<SharedPlace> grown;   // piece that may be longer than `recorded`; 0: none
  std::atomic<SharedPlace> moving;  // destination while the move is being recorded in the container; 0: none
  std::atomic<SharedPlace> moved;   // destination of a stream that left the set; 0: it is in the set
  SharedOverwrite over;
  format::StreamKey key;  // origin: never 0
};

// Destination of a stream that was renamed out of the set, as in StreamTarget.
struct SharedTarget {
  uint64_t device;
  uint64_t number;
  uint32_t bytes;
  char text[4];  // the path: `bytes` characters
};

// An area for records of all processes of the host.
struct RecordArea {
  int64_t place;
  int64_t used;   // bytes
  int64_t bytes;  // size; 0: no area
  bool entered;   // listed in a table of the container
};

class ContainerIndex {
 public:
  static constexpr uint32_t layout =
      7;  // version of the structures of this folder, of sums/ and of HostMemory

  struct Head {
    HostMutex names_lock;
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
    // A rename in progress: the stream and its new entry, 0 to remove the name. Guarded by the lock of names.
    // `renamed` is 0 unless a rename has begun; a process that acquires the lock and finds another value must
    // complete the rename.
    std::atomic<SharedPlace> renamed;
    std::atomic<SharedPlace> renamed_to;
    SharedAllocator::AllocatorState allocator;
    SharedNames::NamesState names;
  };

  explicit ContainerIndex(HostMemory& memory)
      : memory_(memory),
        allocator_(memory, HostMemory::first_free + offsetof(Head, allocator)),
        names_(allocator_, HostMemory::first_free + offsetof(Head, names)) {}
  void begin(const format::Identity& identity, bool summed);  // initializes new memory

  Head& head() { return memory_.as<Head>(HostMemory::first_free); }
  HostMemory& memory() { return memory_; }
  SharedAllocator& allocator() { return allocator_; }
  SharedNames& names() { return names_; }  // the caller holds the lock of names
  SharedStream& stream(SharedPlace at) { return memory_.as<SharedStream>(at); }
  SharedPiece& piece(SharedPlace at) { return memory_.as<SharedPiece>(at); }
  SharedTarget& target(SharedPlace at) { return memory_.as<SharedTarget>(at); }

  // Advances the clock and returns the new time: the present, or the smallest greater time if the host has
  // already used the present.
  int64_t tick();
  // Advances the clock to at least `time`, a time that another host has issued. Later calls of tick() return
  // greater times.
  void hear(int64_t time);

  // Guards the areas of the log of the host.
  class LogLock : public HostLock {
   public:
    explicit LogLock(ContainerIndex& index) : HostLock(index.head().log) {
      // The killed process may have left the areas half changed, so nothing more is written to them.
      if (after_kill()) index.head().log_area.bytes = index.head().spare_area.bytes = 0;
    }
  };

  // --- The caller holds the lock of names:

  class NamesLock : public HostLock {
   public:
    explicit NamesLock(ContainerIndex& index) : HostLock(index.head().names_lock) {
      if (after_kill()) index.mend_names();
    }
  };

  // Finds only streams registered with note_key(); 0 if not found.
  SharedPlace find(const format::StreamKey& key) { return names_.find(KeyText(key).view()); }
  void note_key(SharedPlace at) { names_.link(names_.make_entry(at, KeyText(stream(at).key).view())); }
  // Allocates a stream without a name or pieces. Throws `no_space`.
  SharedPlace make_stream(const format::StreamKey& key, uint32_t mode, int64_t time);
  // Makes the entry's name the only name of its stream. Another stream with this name loses it.
  void give_name(SharedPlace entry, int64_t time);
  void take_name(SharedPlace stream);
  void open(SharedPlace stream) { this->stream(stream).opens.fetch_add(1); }
  void close(SharedPlace stream);
  // Frees the stream unless it is open or can be found by name or key.
  void let_go(SharedPlace stream) { open(stream), close(stream); }
  std::string_view name_of(SharedPlace at) {  // valid while the lock is held
    const SharedPlace name = stream(at).entry.load();
    return name == 0 ? std::string_view() : names_.text(name);
  }
  // Visits all streams, including those without a name.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (SharedPlace at = head().all.load(); at != 0; at = stream(at).all)
      if (stream(at).use.load() != StreamUse::free) visit(at);
  }

  // --- The caller holds the lock of the stream:

  class StreamLock : public HostLock {
   public:
    StreamLock(ContainerIndex& index, SharedPlace at) : HostLock(index.stream(at).lock) {
      if (after_kill()) index.mend(index.stream(at));
    }
  };

  void drop_piece(SharedPlace piece);
  // Appends a fully initialized piece to the list of the stream. `last`: the last piece of the list; 0: none.
  void add_piece(SharedStream& stream, SharedPlace last, SharedPlace piece);
  void drop_pieces(SharedStream& stream);
  // Sets the size and cuts off the pieces beyond it.
  void cut(SharedStream& stream, int64_t size, int64_t time);

 private:
  void note_named(SharedStream& stream);
  void cut_pieces(SharedStream& stream, int64_t size);
  void mend_name(SharedPlace stream);
  void mend_names();
  void mend(SharedStream& stream);

  HostMemory& memory_;
  SharedAllocator allocator_;
  SharedNames names_;
};

}  // namespace sheaf::streams
