// api/sion/handles/handle: what a sid stands for, and the table of them.
//
// The table is lock-free to look up: one atomic load. Opening and closing take a mutex. A number that was
// closed is given out again only when all others have been used. Different threads may use different handles;
// one handle is used by one thread at a time.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "api/sion/handles/atomic.hpp"
#include "api/sion/handles/call_scope.hpp"
#include "api/sion/handles/plain_stream.hpp"
#include "base/export.hpp"
#include "base/forks.hpp"
#include "base/non_copyable.hpp"
#include "comm/agree.hpp"
#include "journal/ownership.hpp"
#include "keyval/keyval_index.hpp"
#include "set/reader.hpp"
#include "set/writer.hpp"

namespace sheaf::api {

// Arrays that the location queries hand out; they live as long as the handle.
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

// The family of calls that has opened a handle, and may close it.
enum class OpenedBy : uint8_t { serial, parallel, mapped, duplicate };

class Handle : private NonCopyable {
 public:
  // `files`: what was opened uses them until it goes. `mode` says what the program's stream is, and whether
  // SIGTERM flushes the handle.
  Handle(std::shared_ptr<Store> files, std::unique_ptr<Writer> opened, const OpenMode& mode)
      : Handle(std::move(files), std::move(opened), nullptr, mode) {}
  Handle(std::shared_ptr<Store> files, std::unique_ptr<Reader> opened, const OpenMode& mode)
      : Handle(std::move(files), nullptr, std::move(opened), mode) {}
  ~Handle();

  // Windows of the fast path; never null (an empty one where the direction does not fit).
  Window* out;
  Window* in;
  Window* out_records;  // of key-value files in native byte order

  const std::shared_ptr<Store> store;
  const std::unique_ptr<Writer> writes;  // exactly one of the two is there
  const std::unique_ptr<Reader> reads;
  WriteStream* const writer = nullptr;  // of it
  ReadStream* const reader = nullptr;
  OpenedBy opened_by = OpenedBy::parallel;
  bool posix;
  bool through_library;  // so goes the FILE* of the program, if it asks for one
  std::shared_ptr<Gate>
      gate;  // of those that SIGTERM flushes: calls go through it (begin_call), and there are no windows
  bool hints = false;                  // the environment asked for file-system hints (SION_HINTS)
  std::unique_ptr<AtomicName> atomic;  // null: the file has its name already
  // At the first task of a multifile that is written; null: it could not be taken.
  std::shared_ptr<Ownership> ownership;
  const int64_t process = forks();      // that has opened it
  const bool keeps_journal;             // what is flushed is recorded
  bool told_forgotten = false;          // the program was told that it has not closed it
  int buddies = 0;                      // copies that the open mode speaks of
  std::optional<uint64_t> only_key;     // a duplicate made for one key: all others read as absent
  std::unique_ptr<KeyvalReader> keys;   // once keys have been read
  KeyvalIndex* current_keys = nullptr;  // of the current task; null: not looked up yet
  FILE* second = nullptr;               // stream registered by the program
  std::unique_ptr<PlainStream> plain;  // once the program has asked for a FILE* that goes through the library
  Tables tables;

  bool is_serial() const { return opened_by == OpenedBy::serial; }

  // The same questions to whatever is open.
  // Number of the current task.
  int task() { return static_cast<int>(writes ? writes->task() : reads->task()); }
  // Of the whole multifile.
  int ntasks() { return static_cast<int>(writes ? writes->ntasks() : reads->ntasks()); }
  // Of all its processes; null: opened by one alone.
  Comm* comm() { return writes ? writes->comm() : reads->comm(); }
  FileFacts facts() { return writes ? writes->facts() : reads->facts(); }
  // Of the physical file of the current task.
  const std::string& path() const { return writer ? writer->file().path() : reader->file().path(); }
  // Of the chunks of the current task.
  const layout::ChunkGeometry& geometry() const { return writer ? writer->geometry() : reader->geometry(); }
  // The program's stream (ansi) or descriptor (posix) of the physical file, made if need be. Throws
  // unsupported if it is compressed, or the program has asked for streams that go through the library.
  StdioHandle& share();
  // The program's stream, of the physical file or one that goes through the library (where the mode says so,
  // and where the bytes are no file of the operating system: compressed, striped, a buddy copy); made if need
  // be. With one that does, every call finds out where it is (get_handle), and there are no windows.
  FILE* stream();
  void drop_stream();  // that goes through the library: the program has closed it
  FILE* own_stream();  // what the program has of stream(), if anything: not made
  // Null if the program has none.
  StdioHandle* shared() { return writer ? writer->handle() : reader->handle(); }
  void select(int64_t task);  // throws out_of_range
  void stray(int64_t task, const Error& why) {
    writes->stray(task, why);
    open_windows();
  }

  // Of a handle that writes: Writer::append(). There are no windows while the writer awaits a retry.
  template <class Act>
  void append(std::span<const std::byte> head, std::span<const std::byte> body, Act&& act) {
    const bool awaited = writes->awaits_retry();
    const auto problem = attempt([&] { writes->append(head, body, act); });
    if (writes->awaits_retry() != awaited) open_windows();
    if (problem) throw *problem;
  }
  // The same for bytes that follow those in the program's stream, which are stored first.
  void write(std::span<const std::byte> data) {
    append({}, data, [&] {
      settle();
      writer->write(data);
    });
  }
  void settle() {
    if (plain) plain->settle();
  }

 private:
  Handle(std::shared_ptr<Store> files, std::unique_ptr<Writer> writer, std::unique_ptr<Reader> reader,
         const OpenMode& mode);
  void open_windows();
};

// Adds a handle, which the table then owns; returns its sid. Throws, and leaves it to the caller, if the
// table is full.
SHEAF_EXPORT int add_handle(std::unique_ptr<Handle>& handle);

// The handle of a sid, or null. Inline for the fast path.
inline constexpr int most_handles = 1 << 16;
extern SHEAF_EXPORT std::atomic<Handle*> handle_table[most_handles];

inline Handle* find_handle(int sid) {
  if (static_cast<unsigned>(sid) >= static_cast<unsigned>(most_handles)) return nullptr;
  return handle_table[sid].load(std::memory_order_acquire);
}

// Takes a handle out of the table; null if there is none.
SHEAF_EXPORT std::unique_ptr<Handle> remove_handle(int sid);

// A call begins to use the handle, until its CallScope ends: to be called where get_handle() is not.
inline void begin_call(Handle& handle) {
  if (handle.gate) [[unlikely]]
    CallScope::enter(handle.gate);
}

// The handle, where its program's stream is; or an error "invalid file identifier". Begins the call. Throws
// wrong_mode while another thread is in a call on the handle.
Handle& get_handle(int sid);
WriteStream& get_writer(Handle& handle);  // throws wrong_mode
ReadStream& get_reader(Handle& handle);

// size * nitems; throws invalid_argument beyond 2^63.
size_t bytes_of(size_t size, size_t nitems);

}  // namespace sheaf::api
