// api/sion/handles/handle: the object that a sid denotes, and the handle table.
//
// A lookup is lock-free: one atomic load. Opening and closing take a mutex. The number of a closed handle is
// reused only after all other numbers. Threads may use different handles concurrently; only one thread at a
// time may use a handle.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "api/sion/handles/atomic.hpp"
#include "api/sion/handles/call_scope.hpp"
#include "api/sion/handles/plain_stream.hpp"
#include "base/assert.hpp"
#include "base/export.hpp"
#include "base/forks.hpp"
#include "base/non_copyable.hpp"
#include "comm/agree.hpp"
#include "multifile/journal/ownership.hpp"
#include "multifile/keyval/keyval_index.hpp"
#include "multifile/reader/reader.hpp"
#include "multifile/saves/begin_save.hpp"
#include "multifile/writer/writer.hpp"

namespace sheaf::api {

// Arrays returned by location queries; they live as long as the handle.
struct Tables {
  std::vector<long long> chunk_sizes;
  std::vector<long long> globalranks;
  std::vector<long long> block_counts;
  std::vector<long long> block_sizes;
  std::vector<long long> positions;
  std::vector<long long> block_numbers;
  std::vector<long long> current_sizes;
  std::vector<int> mapping;
};

// Family of calls that opened a handle; only the same family may close it.
enum class OpenedBy : uint8_t { serial, parallel, mapped, duplicate };

// How a handle was opened.
struct OpenedAs {
  OpenedBy by = OpenedBy::parallel;
  bool posix = false;
  bool through_library = false;  // the program's FILE* passes data through the library
  bool hints = false;            // the environment asked for file-system hints (SION_HINTS)
  bool keeps_journal = false;    // flushed data are recorded in a journal
  int buddies = 0;               // number of copies in the open mode
  int64_t process = forks();     // process that opened the handle
};

// Windows of the fast path; never null. The window of the direction in which the file is not open is empty.
struct HandleWindows {
  multifile::StreamWindow* out;
  multifile::StreamWindow* in;
  multifile::StreamWindow* out_records;  // key-value files in native byte order only
};

struct StdioStreams {
  FILE* second = nullptr;              // stream registered by the program
  std::unique_ptr<PlainStream> plain;  // set after the program requested a FILE* through the library
};

struct HandleKeys {
  std::optional<uint64_t> only;  // set for a duplicate of one key; other keys read as absent
  std::unique_ptr<multifile::KeyvalReader> indexes;  // created when keys are first read
  multifile::KeyvalIndex* current = nullptr;         // index of the current task; null: not looked up yet
};

// State that the close of a multifile open for writing needs.
struct CloseState {
  std::unique_ptr<AtomicName> atomic;      // null: the file has its final name
  std::unique_ptr<saves::BegunSave> save;  // null: the close is synchronous
  // Set on the first task; null if ownership is not available.
  std::shared_ptr<multifile::Ownership> ownership;
  bool told_forgotten = false;  // the warning about the missing close was printed
};

class SionHandle : private NonCopyable {
 public:
  // Keeps `files` alive, because the writer or reader uses them. `mode` selects the type of the program's
  // stream and whether SIGTERM flushes the handle.
  SionHandle(std::shared_ptr<Store> files, std::unique_ptr<multifile::Writer> to_write,
             const multifile::OpenMode& mode)
      : SionHandle(std::move(files), std::move(to_write), nullptr, mode) {}
  SionHandle(std::shared_ptr<Store> files, std::unique_ptr<multifile::Reader> to_read,
             const multifile::OpenMode& mode)
      : SionHandle(std::move(files), nullptr, std::move(to_read), mode) {}
  ~SionHandle();

  HandleWindows windows;
  const std::shared_ptr<Store> store;
  std::unique_ptr<multifile::Writer> writes;  // exactly one of `writes` and `reads` is set
  const std::unique_ptr<multifile::Reader> reads;
  multifile::WriteStream* const writer = nullptr;  // stream of `writes`
  multifile::ReadStream* const reader = nullptr;
  OpenedAs opened;
  // Set if SIGTERM flushes the handle: calls enter the gate in begin_call(), and no windows exist.
  std::shared_ptr<Gate> gate;
  CloseState closing;
  HandleKeys keys;
  StdioStreams program;
  Tables tables;

  // Passes the writer on when the multifile is closed. The handle must not be used any more.
  std::unique_ptr<multifile::Writer> release_writer();

  bool is_serial() const { return opened.by == OpenedBy::serial; }

  // Returns the number of the current task.
  int task() { return static_cast<int>(writes ? writes->task() : reads->task()); }
  // Returns the number of tasks of the whole multifile.
  int ntasks() { return static_cast<int>(writes ? writes->ntasks() : reads->ntasks()); }
  // Returns the Comm of all processes of the multifile, or null if one process opened the multifile alone.
  Comm* comm() { return writes ? writes->comm() : reads->comm(); }
  multifile::FileFacts facts() { return writes ? writes->facts() : reads->facts(); }
  // Returns the path of the physical file of the current task.
  const std::string& path() const {
    return writer ? writer->target().file().path() : reader->blocks().file().path();
  }
  // Returns the chunk geometry of the current task.
  const layout::ChunkGeometry& geometry() const { return writer ? writer->geometry() : reader->geometry(); }
  // Returns the program's stream (ansi) or descriptor (posix) of the physical file; creates it on first use.
  // Throws unsupported if the file is compressed or the program requested streams through the library.
  StdioHandle& share();
  // Returns the program's stream; creates it on first use. The stream is a stream of the physical file or one
  // that passes its bytes through the library. A stream through the library is used if the mode requests it,
  // or if the bytes are no file of the operating system (compressed, striped, a buddy copy). While such a
  // stream exists, every call first determines its position (get_handle), and no windows exist.
  FILE* stream();
  void drop_stream();  // after the program closed a stream through the library
  FILE* own_stream();  // the existing stream of stream(), or null
  // Returns the program's stream or descriptor of the physical file, or null if the program has none.
  StdioHandle* shared() { return writer ? writer->chunks().handle() : reader->handle(); }
  void select(int64_t task);  // throws out_of_range
  void stray(int64_t task, const Error& why) {
    writes->stray(task, why);
    open_windows();
  }

  // Calls Writer::append(). Requires a handle open for writing. While the writer awaits a retry, no windows
  // exist, so that every call reaches the writer.
  template <class Act>
  void append(std::span<const std::byte> head, std::span<const std::byte> body, Act&& act) {
    SHEAF_ASSERT(writes);
    const bool awaited = writes->awaits_retry();
    const auto problem = attempt([&] { writes->append(head, body, act); });
    if (writes->awaits_retry() != awaited) open_windows();
    if (problem) throw *problem;
  }
  // Appends bytes to the stream of the task, after storing the bytes that the program's stream holds.
  void write(std::span<const std::byte> data) {
    append({}, data, [&] {
      settle();
      writer->write(data);
    });
  }
  // Stores the bytes that a stream through the library holds, or moves to its position.
  void settle() {
    if (program.plain) program.plain->settle();
  }

 private:
  SionHandle(std::shared_ptr<Store> files, std::unique_ptr<multifile::Writer> writer,
             std::unique_ptr<multifile::Reader> reader, const multifile::OpenMode& mode);
  void open_windows();
  void end_watch();
};

// Adds a handle to the table and returns its sid. The table then owns the handle. If the table is full,
// throws and leaves the handle with the caller.
SHEAF_EXPORT int add_handle(std::unique_ptr<SionHandle>& handle);

inline constexpr int max_handles = 1 << 16;
extern SHEAF_EXPORT std::atomic<SionHandle*> handle_table[max_handles];

// Returns the handle of a sid, or null if the sid is invalid. The function is inline because it is on the
// fast path.
inline SionHandle* find_handle(int sid) {
  if (static_cast<unsigned>(sid) >= static_cast<unsigned>(max_handles)) return nullptr;
  return handle_table[sid].load(std::memory_order_acquire);
}

// Removes a handle from the table and returns it; null if the sid is invalid.
SHEAF_EXPORT std::unique_ptr<SionHandle> remove_handle(int sid);

// Marks the start of a call on the handle, which lasts until its CallScope ends. Required in calls that do
// not use get_handle().
inline void begin_call(SionHandle& handle) {
  if (handle.gate) [[unlikely]]
    CallScope::enter(handle.gate);
}

// Returns the handle after synchronizing it with the position of the program's stream, and starts the call.
// Throws invalid_argument ("invalid file identifier") if the sid is invalid, and wrong_mode while another
// thread is in a call on it.
SionHandle& get_handle(int sid);
multifile::WriteStream& get_writer(SionHandle& handle);  // throws wrong_mode
multifile::ReadStream& get_reader(SionHandle& handle);

// Returns size * nitems; throws invalid_argument beyond 2^63.
size_t bytes_of(size_t size, size_t nitems);

}  // namespace sheaf::api
