#include "api/sion/handles/handle.hpp"

#include <array>
#include <cstdlib>
#include <mutex>
#include <string>

#include "api/sion/handles/debug_log.hpp"
#include "api/sion/handles/locks.hpp"
#include "api/sion/handles/term_flush.hpp"
#include "base/setting.hpp"
#include "comm/agree.hpp"
#include "sfio/stripe_name.hpp"

namespace sheaf::api {

std::atomic<SionHandle*> handle_table[max_handles];

namespace {

std::mutex table_mutex;
int next_sid = 0;
multifile::StreamWindow no_window;  // always empty

}  // namespace

SionHandle::SionHandle(std::shared_ptr<Store> files, std::unique_ptr<multifile::Writer> to_write,
                       std::unique_ptr<multifile::Reader> to_read, const multifile::OpenMode& mode)
    : store(std::move(files)),
      writes(std::move(to_write)),
      reads(std::move(to_read)),
      writer(writes ? &writes->stream() : nullptr),
      reader(reads ? &reads->stream() : nullptr),
      opened{.posix = mode.posix,
             .through_library = mode.stream,
             .hints = quiet_number_setting("SION_HINTS") == 1,
             .keeps_journal = mode.journal} {
  // Striped files get no gate. Their I/O sends messages to listeners, and the flushing thread must not send
  // messages.
  if (mode.term_flush && writer && !sfio::is_stripe_path(path())) gate = std::make_shared<Gate>(*this);
  open_windows();
}

SionHandle::~SionHandle() { end_watch(); }

void SionHandle::end_watch() {
  if (!gate) return;
  gate->close();
  no_longer_watch(*gate);
  gate.reset();
}

std::unique_ptr<multifile::Writer> SionHandle::release_writer() {
  end_watch();
  program.plain.reset();  // it writes to the writer
  return std::move(writes);
}

void SionHandle::open_windows() {
  windows = {&no_window, &no_window, &no_window};
  if (program.plain || gate || (writes && writes->awaits_retry())) return;
  if (reader) windows.in = &reader->buffer().window();
  if (!writer) return;
  windows.out = &writer->buffer().window();
  const multifile::FileFacts known = facts();
  if (known.keyval && known.metadata_order == native_order) windows.out_records = windows.out;
}

FILE* SionHandle::stream() {
  if (!program.plain && !opened.through_library && !facts().compressed) {
    FILE* own = nullptr;
    const auto problem = attempt([&] { own = share().stream(); });
    if (!problem) return own;
    if (problem->code() != Code::unsupported)
      throw *problem;  // otherwise the data are not in an operating system file
  }
  if (!program.plain) {
    program.plain = std::make_unique<PlainStream>(*this);
    open_windows();
  }
  return program.plain->stream();
}

void SionHandle::drop_stream() {
  program.plain.reset();
  open_windows();
}

FILE* SionHandle::own_stream() {
  if (program.plain) return program.plain->open() ? program.plain->stream() : nullptr;
  StdioHandle* const own = shared();
  return own ? own->stream_in_use() : nullptr;
}

StdioHandle& SionHandle::share() {
  if (facts().compressed)
    throw Error(Code::unsupported,
                "'" + path() +
                    "' is compressed: behind a descriptor lie frames, not the bytes of the task; use "
                    "the library's calls or, without the word posix, the stream of sion_get_fp, or " +
                    (writer ? "write with compress=none" : "a copy made by 'sheaf defrag --decompress'"));
  if (opened.through_library && !opened.posix)
    throw Error(Code::unsupported,
                "'" + path() + "' was opened with fileptr=stream: its stream goes through the library");
  return writer ? writer->share(!opened.posix) : reader->share(!opened.posix);
}

void SionHandle::select(int64_t task) {
  keys.current = nullptr;
  if (reads) return reads->select(task);
  const bool awaited = writes->awaits_retry();
  writes->select(task);
  if (writes->awaits_retry() != awaited) open_windows();
}

// Adds a handle to the table and returns its sid.
static int enter(std::unique_ptr<SionHandle>& handle) {
  const UserLock users;
  const std::lock_guard lock(table_mutex);
  for (int tries = 0; tries < max_handles; ++tries) {
    const int sid = next_sid;
    next_sid = (next_sid + 1) % max_handles;
    if (handle_table[sid].load(std::memory_order_relaxed) != nullptr) continue;
    handle_table[sid].store(handle.release(), std::memory_order_release);
    return sid;
  }
  throw Error(Code::io, "too many open handles (" + std::to_string(max_handles) + ")");
}

int add_handle(std::unique_ptr<SionHandle>& handle) {
  SionHandle& added = *handle;
  if (added.gate) watch(added.gate);
  const int sid = enter(handle);
  if (debugging(Subject::handles))
    debug_line(Subject::handles,
               "handle " + std::to_string(sid) + ": opened '" + added.path() + "' to " +
                   (added.writer ? "write" : "read"),
               added.task());
  return sid;
}

std::unique_ptr<SionHandle> remove_handle(int sid) {
  if (static_cast<unsigned>(sid) >= static_cast<unsigned>(max_handles)) return nullptr;
  std::unique_ptr<SionHandle> handle;
  {
    const UserLock users;
    handle.reset(handle_table[sid].exchange(nullptr, std::memory_order_acq_rel));
  }
  if (handle && debugging(Subject::handles))
    debug_line(Subject::handles, "handle " + std::to_string(sid) + ": closing", handle->task());
  return handle;
}

// Users of handles, by sid. They are not stored in the handles, because a thread may close a handle that
// another thread is about to use.
static std::array<std::atomic<const void*>, max_handles> handle_users;

SionHandle& get_handle(int sid) {
  SionHandle* handle = find_handle(sid);
  if (!handle) throw Error(Code::invalid_argument, "invalid file identifier " + std::to_string(sid));
  CallScope::occupy(handle_users[sid]);
  begin_call(*handle);
  handle->settle();
  return *handle;
}

size_t bytes_of(size_t size, size_t nitems) {
  size_t bytes;
  if (__builtin_mul_overflow(size, nitems, &bytes) || bytes > static_cast<size_t>(INT64_MAX))
    throw Error(Code::invalid_argument, "a request of " + std::to_string(nitems) + " items of " +
                                            std::to_string(size) + " bytes exceeds 2^63 bytes");
  return bytes;
}

multifile::WriteStream& get_writer(SionHandle& handle) {
  if (!handle.writer) throw Error(Code::wrong_mode, "'" + handle.path() + "' is open for reading");
  return *handle.writer;
}

multifile::ReadStream& get_reader(SionHandle& handle) {
  if (!handle.reader) throw Error(Code::wrong_mode, "'" + handle.path() + "' is open for writing");
  return *handle.reader;
}

}  // namespace sheaf::api
