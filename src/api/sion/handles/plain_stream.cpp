#include "api/sion/handles/plain_stream.hpp"

#include <stdio_ext.h>

#include <cerrno>

#include "api/sion/handles/guard.hpp"
#include "api/sion/handles/handle.hpp"
#include "comm/agree.hpp"

namespace sheaf::api {

struct PlainStream::StreamCookie {
  SionHandle* handle;  // null after the handle is closed
  bool open = true;
};

namespace {

// Returns the errno value of an error, EIO if the error has none, or 0 without an error.
int errno_of(const std::optional<Error>& problem) {
  return !problem ? 0 : problem->errno_value() != 0 ? problem->errno_value() : EIO;
}

// Runs a stdio callback and sets errno, to 0 after success. Sets EBADF without running the callback if the
// handle is closed or `can` is false. Prints errors on stderr, because errno alone carries little
// information.
template <class Call>
void serve(SionHandle* h, bool can, Call&& call) {
  if (!h || !can) {
    errno = EBADF;
    return;
  }
  const CallScope scope;
  begin_call(*h);
  const auto problem = attempt(call);
  if (problem) report("the stream of sion_get_fp", *problem, h->task(), -1);
  errno = errno_of(problem);
}

int64_t position_of(SionHandle& h) {
  if (h.opened.through_library) return h.reader ? h.reader->bytes_read() : h.writer->bytes_written();
  return h.reader ? h.reader->file_position() : h.writer->file_position();
}

bool go_to(SionHandle& h, int64_t position) {
  if (position < 0 || !h.reader) return false;
  if (h.opened.through_library) return h.reader->seek_absolute(position);
  const layout::ChunkGeometry& chunks = h.reader->geometry();
  if (position < chunks.start || chunks.skip == 0) return false;
  return h.reader->seek_block((position - chunks.start) / chunks.skip,
                              (position - chunks.start) % chunks.skip);
}

void seek(SionHandle& h, off64_t& position, int whence) {
  const int64_t here = position_of(h);
  int64_t wanted = whence == SEEK_CUR ? here + position : position;
  if (whence == SEEK_END) {
    if (!h.opened.through_library) throw Error(Code::unsupported, "the end has no position", EINVAL);
    wanted += h.reader ? h.reader->bytes_read() + h.reader->available(INT64_MAX) : here;
  }
  if (wanted != here && !go_to(h, wanted)) throw Error(Code::out_of_range, "no such position", EINVAL);
  position = wanted;
}

}  // namespace

PlainStream::PlainStream(SionHandle& handle) : link_(new StreamCookie{&handle}) {
  cookie_io_functions_t calls{};
  calls.write = [](void* link, const char* data, size_t bytes) -> ssize_t {
    SionHandle* const h = static_cast<StreamCookie*>(link)->handle;
    serve(h, h && h->writer, [&] {
      const std::span given(reinterpret_cast<const std::byte*>(data), bytes);
      h->append({}, given, [&] { h->writer->write(given); });
    });
    return errno == 0 ? static_cast<ssize_t>(bytes) : 0;
  };
  calls.read = [](void* link, char* data, size_t bytes) -> ssize_t {
    SionHandle* const h = static_cast<StreamCookie*>(link)->handle;
    size_t got = 0;
    serve(h, h && h->reader, [&] { got = h->reader->read({reinterpret_cast<std::byte*>(data), bytes}); });
    return errno == 0 ? static_cast<ssize_t>(got) : -1;
  };
  calls.seek = [](void* link, off64_t* position, int whence) -> int {
    SionHandle* const h = static_cast<StreamCookie*>(link)->handle;
    const CallScope scope;
    if (h) begin_call(*h);
    errno = h ? errno_of(attempt([&] { seek(*h, *position, whence); })) : EBADF;
    return errno == 0 ? 0 : -1;
  };
  calls.close = [](void* cookie) -> int {
    auto* const link = static_cast<StreamCookie*>(cookie);
    link->open = false;
    if (!link->handle) delete link;
    return 0;
  };
  stream_ = fopencookie(link_, handle.writer ? "w" : "r", calls);
  if (!stream_) {
    delete link_;
    throw os_error("cannot make a stream for", handle.path(), errno);
  }
  // Input is buffered only if the stream has the positions of the task's stream. Positions in the multifile
  // jump between blocks, which would confuse the read-ahead of stdio.
  if (handle.writer || !handle.opened.through_library) std::setvbuf(stream_, nullptr, _IONBF, 0);
}

bool PlainStream::open() const { return link_->open; }

void PlainStream::settle() {
  if (!link_->open) return;
  SionHandle& h = *link_->handle;
  if (h.writer) {
    if (__fpending(stream_) == 0 || std::fflush(stream_) == 0) return;
    const Error lost(Code::io, "'" + h.path() + "': bytes that the program wrote to its stream are lost",
                     errno);
    __fpurge(stream_);
    if (!h.writes->awaits_retry()) h.writer->target().lose(lost);
    throw lost;
  }
  // stdio reads ahead, so the position of the program may differ from that of the library.
  const int64_t there = position_of(h);
  const off64_t here = ::ftello64(stream_);
  if (here == there || here < 0) return;
  go_to(h, here);
  moved();
}

void PlainStream::moved() {
  if (!link_->open) return;
  __fpurge(stream_);
  if (link_->handle->reader) std::clearerr(stream_);
}

PlainStream::~PlainStream() {
  link_->handle = nullptr;
  if (link_->open) {
    std::fclose(stream_);
  } else {
    delete link_;
  }
}

}  // namespace sheaf::api
