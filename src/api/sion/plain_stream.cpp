#include "api/sion/plain_stream.hpp"

#include <cerrno>

#include "api/sion/handle.hpp"
#include "comm/agree.hpp"

namespace sheaf::api {

struct PlainStream::Link {
  Handle* handle;  // null: the handle is gone
  bool open = true;
};

namespace {

// errno of what `call` throws; 0 if it returns.
template <class Call>
int errno_of(Call&& call) {
  const auto problem = attempt(call);
  return !problem ? 0 : problem->errno_value() != 0 ? problem->errno_value() : EIO;
}

bool seek(ReadStream& stream, int64_t position) {
  const layout::ChunkGeometry& chunks = stream.geometry();
  if (position < chunks.start || chunks.skip == 0) return false;
  return stream.seek_block((position - chunks.start) / chunks.skip, (position - chunks.start) % chunks.skip);
}

}  // namespace

PlainStream::PlainStream(Handle& handle) : link_(new Link{&handle}) {
  cookie_io_functions_t calls{};
  calls.write = [](void* link, const char* data, size_t bytes) -> ssize_t {
    Handle* const h = static_cast<Link*>(link)->handle;
    errno = !h || !h->writer ? EBADF : errno_of([&] { h->writer->write({reinterpret_cast<const std::byte*>(data), bytes}); });
    return errno == 0 ? static_cast<ssize_t>(bytes) : 0;
  };
  calls.read = [](void* link, char* data, size_t bytes) -> ssize_t {
    Handle* const h = static_cast<Link*>(link)->handle;
    size_t got = 0;
    errno = !h || !h->reader ? EBADF : errno_of([&] { got = h->reader->read({reinterpret_cast<std::byte*>(data), bytes}); });
    return errno == 0 ? static_cast<ssize_t>(got) : -1;
  };
  calls.seek = [](void* link, off64_t* position, int whence) -> int {
    Handle* const h = static_cast<Link*>(link)->handle;
    errno = !h ? EBADF : errno_of([&] {
      const int64_t here = h->reader ? h->reader->file_position() : h->writer->file_position();
      const int64_t wanted = whence == SEEK_CUR ? here + *position : *position;
      const bool there = whence != SEEK_END && (wanted == here || (h->reader && seek(*h->reader, wanted)));
      if (!there) throw Error(Code::out_of_range, "no such position", EINVAL);
      *position = wanted;
    });
    return errno == 0 ? 0 : -1;
  };
  calls.close = [](void* cookie) -> int {
    auto* const link = static_cast<Link*>(cookie);
    link->open = false;
    if (!link->handle) delete link;
    return 0;
  };
  stream_ = fopencookie(link_, handle.writer ? "w" : "r", calls);
  if (!stream_) {
    delete link_;
    throw os_error("cannot make a stream for", handle.path(), errno);
  }
  std::setvbuf(stream_, nullptr, _IONBF, 0);
}

void PlainStream::flush() {
  if (link_->open) std::fflush(stream_);
}

PlainStream::~PlainStream() {
  const bool open = link_->open;
  if (!open) {
    delete link_;
    return;
  }
  link_->handle = nullptr;
  std::fclose(stream_);
}

}  // namespace sheaf::api
