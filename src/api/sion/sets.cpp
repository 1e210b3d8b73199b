// Implements the C functions of named streams (include/sheaf.h). Validates arguments, parses modes, and maps
// errors to return values and errno.
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/guard.hpp"
#include "storage/store.hpp"
#include "streams/container/container_set.hpp"
#include "streams/container/gather.hpp"

using namespace sheaf;
using namespace sheaf::streams;
using namespace sheaf::api;

struct sheaf_set {
  std::shared_ptr<Store> store;
  std::shared_ptr<ContainerSet> set;
};

struct sheaf_stream {
  struct Mode {
    StreamOpening opening;
    bool reads = false;
    bool appends = false;
  };
  std::shared_ptr<Store> store;
  std::shared_ptr<ContainerStream> stream;
  Mode mode;
};

namespace {

// Runs body() and returns its result, or 0 if it has none. If body() throws, reports the error, sets errno,
// and returns `failure`. If the error has no errno value, sets errno to EIO, because callers rely on errno
// after a failure.
template <class Result, class Body>
Result with_errno(const char* function, Result failure, Body&& body) {
  int error = 0;
  Result result = failure;
  guarded(function, -1, -1, [&] {
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<Body&>>) {
        body();
        result = 0;
      } else {
        result = body();
      }
    } catch (const Error& e) {
      error = e.errno_value() != 0 ? e.errno_value() : EIO;
      throw;
    }
  });
  if (error != 0) errno = error;
  return result;
}

// Runs body(stream) as with_errno() does. A null `stream` is an error.
template <class Result, class Body>
Result on_stream(const char* function, const sheaf_stream* stream, Result failure, Body&& body) {
  return with_errno(function, failure, [&] {
    require(stream, "stream");
    return body(*stream);
  });
}

sheaf_stream::Mode mode_of(std::string_view text) {
  const char first = text.empty() ? '\0' : text[0];
  const bool both = text.find('+') != std::string_view::npos;
  if ((first != 'r' && first != 'w' && first != 'a') ||
      text.find_first_not_of("+xbe", 1) != std::string_view::npos)
    throw Error(Code::invalid_argument, "there is no mode '" + std::string(text) + "' of streams", EINVAL);
  return {.opening = {.create = first != 'r',
                      .exclusive = first != 'r' && text.find('x') != std::string_view::npos,
                      .truncate = first == 'w',
                      .write = first != 'r' || both},
          .reads = first == 'r' || both,
          .appends = first == 'a'};
}

void require_bytes(const void* data, unsigned long long bytes) {
  if (bytes > 0) require(data, "data");
  if (bytes > static_cast<unsigned long long>(INT64_MAX))
    throw Error(Code::invalid_argument, "too many bytes", EINVAL);
}

void require_right(bool right, const char* to) {
  if (!right) throw Error(Code::wrong_mode, std::string("the stream was not opened for ") + to, EBADF);
}

}  // namespace

sheaf_set* sheaf_set_open(const char* path) {
  return with_errno("sheaf_set_open", static_cast<sheaf_set*>(nullptr), [&] {
    require(path, "path");
    auto made = std::make_unique<sheaf_set>();
    made->store = posix_store_here();
    made->set = ContainerSet::open(*made->store, path);
    return made.release();
  });
}

int sheaf_set_close(sheaf_set* set) {
  return with_errno("sheaf_set_close", -1, [&] { delete set; });
}

sheaf_stream* sheaf_stream_open(sheaf_set* set, const char* name, const char* mode) {
  return with_errno("sheaf_stream_open", static_cast<sheaf_stream*>(nullptr), [&] {
    require(set, "set");
    require(name, "name");
    require(mode, "mode");
    const sheaf_stream::Mode how = mode_of(mode);
    auto opened = set->set->open_stream(name, how.opening);
    if (!opened)
      throw Error(Code::not_found,
                  "there is no stream '" + std::string(name) + "' in '" + set->set->path() + "'", ENOENT);
    return new sheaf_stream{set->store, std::move(opened), how};
  });
}

long long sheaf_stream_read(sheaf_stream* stream, void* data, unsigned long long bytes, long long offset) {
  return on_stream("sheaf_stream_read", stream, -1LL, [&](const sheaf_stream& s) -> long long {
    require_bytes(data, bytes);
    require_right(s.mode.reads, "reading");
    return static_cast<long long>(
        s.stream->read({static_cast<std::byte*>(data), static_cast<size_t>(bytes)}, offset));
  });
}

long long sheaf_stream_write(sheaf_stream* stream, const void* data, unsigned long long bytes,
                             long long offset) {
  return on_stream("sheaf_stream_write", stream, -1LL, [&](const sheaf_stream& s) {
    require_bytes(data, bytes);
    require_right(s.mode.opening.write, "writing");
    const std::span all(static_cast<const std::byte*>(data), static_cast<size_t>(bytes));
    if (bytes == 0) return 0LL;
    const bool appends = s.mode.appends || offset == -1;
    return static_cast<long long>(appends ? s.stream->append(all).bytes : s.stream->write(all, offset));
  });
}

long long sheaf_stream_size(sheaf_stream* stream) {
  return on_stream("sheaf_stream_size", stream, -1LL,
                   [](const sheaf_stream& s) -> long long { return s.stream->status().size; });
}

int sheaf_stream_truncate(sheaf_stream* stream, long long size) {
  return on_stream("sheaf_stream_truncate", stream, -1, [&](const sheaf_stream& s) {
    require_right(s.mode.opening.write, "writing");
    s.stream->truncate(size);
  });
}

int sheaf_stream_sync(sheaf_stream* stream) {
  return on_stream("sheaf_stream_sync", stream, -1, [](const sheaf_stream& s) { s.stream->sync(); });
}

int sheaf_stream_close(sheaf_stream* stream) {
  return on_stream("sheaf_stream_close", stream, -1, [&](const sheaf_stream& s) {
    const std::unique_ptr<sheaf_stream> closed(stream);
    s.stream->flush();
  });
}

int sheaf_stream_remove(sheaf_set* set, const char* name) {
  return with_errno("sheaf_stream_remove", -1, [&] {
    require(set, "set");
    require(name, "name");
    if (!set->set->remove(name))
      throw Error(Code::not_found, "there is no stream '" + std::string(name) + "'", ENOENT);
  });
}

int sheaf_stream_rename(sheaf_set* set, const char* from, const char* to) {
  return with_errno("sheaf_stream_rename", -1, [&] {
    require(set, "set");
    require(from, "from");
    require(to, "to");
    if (!set->set->rename(from, to))
      throw Error(Code::not_found, "there is no stream '" + std::string(from) + "'", ENOENT);
  });
}

int sheaf_set_list(sheaf_set* set, const char* prefix,
                   int visit(const char* name, long long bytes, void* data), void* data) {
  std::vector<std::pair<std::string, long long>> found;
  const int failed = with_errno("sheaf_set_list", -1, [&] {
    require(set, "set");
    require(reinterpret_cast<const void*>(visit), "visit");
    set->set->list(prefix == nullptr ? "" : prefix, [&](std::string_view name, const StreamStatus& status) {
      found.emplace_back(name, status.size);
    });
  });
  if (failed != 0) return failed;
  for (const auto& [name, bytes] : found)
    if (const int result = visit(name.c_str(), bytes, data); result != 0) return result;
  return 0;
}

long long sheaf_set_gather(const char* path) {
  return with_errno("sheaf_set_gather", -1LL, [&] {
    require(path, "path");
    multifile::WorkProgress quiet;
    return static_cast<long long>(gather(*posix_store_here(), {.set = path}, quiet).streams);
  });
}
